"""Tables as text."""

from io import StringIO

import pandas as pd


def parse_table(text):
    """Return the table of a text with commas, in which spaces can align the columns."""
    return pd.read_csv(StringIO(text), skipinitialspace=True)
