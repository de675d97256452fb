"""Who answers: simulated users and judges, what they may be shown, their days, and how synthetic ones are made."""
