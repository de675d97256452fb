/* The controls and the picture of a panel; see widgets.py.

The kernel has the values and draws the pictures. This file shows them with the controls that HTML has, because those
have names, roles and keys for everyone. A control's position is the index of its value; `positions` has all of them.
The page changes `positions` and sends {act, positions}, {begin} and {sharpen}. The kernel answers with `shown`.
Texts are set as text, never as HTML.
*/

const REST = 200; // milliseconds without a new picture before the page asks for a sharp one

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/* A button that keeps the focus when it is not allowed: a disabled one would lose it to the page. */
function button(label, press) {
  const node = element("button", { type: "button" }, label);
  node.addEventListener("click", press);
  return node;
}

function allow(node, isAllowed) {
  node.setAttribute("aria-disabled", String(!isAllowed));
}

// ---------------------------------------------------------------- controls: each returns its node and show(position)

function slider({ label, texts }, id, move) {
  const input = element("input", { type: "range", id, min: 0, max: texts.length - 1, step: 1 });
  const text = element("span", { class: "value", "aria-hidden": "true" }); // screen readers read aria-valuetext
  input.addEventListener("input", () => move(input.valueAsNumber));
  // A letter moves to the next value that begins with it, as in a menu.
  input.addEventListener("keydown", ({ key, ctrlKey, altKey, metaKey }) => {
    if (!/^\p{L}$/u.test(key) || ctrlKey || altKey || metaKey) return;
    const begins = (index) => texts[index].toLowerCase().startsWith(key.toLowerCase());
    const at = input.valueAsNumber;
    const others = texts.map((_, index) => (at + 1 + index) % texts.length);
    const next = others.find(begins);
    if (next !== undefined && next !== at) move(next);
  });
  const node = element("div", { class: "row" }, element("label", { for: id }, label), input, text);
  const show = (position) => {
    if (input.valueAsNumber !== position) input.value = position;
    input.setAttribute("aria-valuetext", texts[position]);
    text.textContent = texts[position];
  };
  return { node, show };
}

function choice({ label, texts }, id, move) {
  const inputs = texts.map(() => element("input", { type: "radio", name: id }));
  inputs.forEach((input, index) => input.addEventListener("change", () => move(index)));
  const labels = inputs.map((input, index) => element("label", {}, input, texts[index]));
  const group = element("div", { role: "radiogroup", "aria-labelledby": id, class: "choices" }, ...labels);
  const node = element("div", { class: "row" }, element("span", { id }, label), group);
  return { node, show: (position) => { inputs[position].checked = true; } };
}

function checkbox({ label }, id, move) {
  const input = element("input", { type: "checkbox", id });
  input.addEventListener("change", () => move(Number(input.checked)));
  const box = element("div", { class: "choices" }, element("label", {}, input, label));
  const node = element("div", { class: "row" }, element("span"), box);
  return { node, show: (position) => { input.checked = Boolean(position); } };
}

const KINDS = { slider, choice, checkbox };

// ---------------------------------------------------------------- the player

/* Buttons that play the frames. The next frame is asked for when the picture of the last one has come. */
function player(model, { name, texts }, move, playing, rested) {
  const last = texts.length - 1;
  const position = () => model.get("positions")[name];
  let begun = 0;
  let timer = null;
  const step = (position) => {
    begun = performance.now();
    move(name, position);
  };
  const play = (isPlaying) => {
    playing.now = isPlaying;
    toggle.textContent = isPlaying ? "pause" : "play";
    clearTimeout(timer);
    if (!isPlaying) rested();
  };
  const next = () => (position() < last ? step(position() + 1) : play(false));
  const jump = (position) => {
    if (playing.now) play(false);
    if (0 <= position && position <= last) step(position);
  };
  const back = button("step back", () => jump(position() - 1));
  const forward = button("step forward", () => jump(position() + 1));
  const toggle = button("play", () => {
    play(!playing.now && last > 0);
    if (playing.now) step(position() < last ? position() + 1 : 0);
  });
  const show = () => {
    allow(back, position() > 0);
    allow(forward, position() < last);
    if (!playing.now || model.get("shown").positions[name] !== position()) return;
    clearTimeout(timer);
    timer = setTimeout(next, begun + model.get("interval") - performance.now());
  };
  const node = element("div", { role: "group", "aria-label": "player", class: "buttons" }, back, toggle, forward);
  return { node, show };
}

// ---------------------------------------------------------------- the agent's seat

/* Buttons for the actions and for a new episode, which asks first if one is under way. */
function seat(model) {
  let pressed = null;
  const act = (index) => {
    pressed = index;
    model.send({ act: index, positions: model.get("positions") });
  };
  const actions = model.get("actions").map((label, index) => button(label, () => act(index)));
  const ask = (isAsking) => {
    question.hidden = !isAsking;
    (isAsking ? no : restart).focus();
  };
  const begin = () => model.send({ begin: true });
  const restart = button("new episode", () => (model.get("shown").under_way ? ask(true) : begin()));
  const yes = button("end it", () => { begin(); ask(false); });
  const no = button("play on", () => ask(false));
  const words = "This episode is under way. End it and begin a new one?";
  const question = element("div", { role: "alertdialog", "aria-label": words, class: "buttons" }, words, yes, no);
  question.hidden = true;
  question.addEventListener("keydown", (event) => {
    if (event.key === "Escape") ask(false);
  });
  const show = () => {
    const { allowed } = model.get("shown");
    actions.forEach((node, index) => allow(node, allowed[index]));
    const focused = actions.indexOf(restart.getRootNode().activeElement);
    if (focused >= 0 && focused === pressed && !allowed[focused]) {
      const later = [...actions.slice(focused), ...actions.slice(0, focused)];
      (later.find((node) => node.ariaDisabled !== "true") ?? restart).focus();
      pressed = null;
    }
  };
  const group = element("div", { role: "group", "aria-label": "action", class: "buttons" }, ...actions);
  const node = element("div", {}, group, element("div", { class: "buttons" }, restart), question);
  return { node, show };
}

// ---------------------------------------------------------------- keys

/* Keep keys from the notebook, where x cuts the cell; return a function that ends this.

JupyterLab and Notebook listen at the document before any element, and obey the attribute; others listen after it.
Keys that leave the panel, run the cell or save the notebook still reach them. */
function keepKeys(root) {
  const isForNotebook = ({ key, ctrlKey, metaKey, shiftKey }) =>
    key === "Escape" || key === "Tab" ||
    (key === "Enter" && (shiftKey || ctrlKey || metaKey)) ||
    (key.toLowerCase() === "s" && (ctrlKey || metaKey));
  // On each, because a shortcut may be of `:focus`, which JupyterLab compares before it looks at what is around.
  const nodes = [root, ...root.querySelectorAll("input, button")];
  const keep = (isKept) => nodes.forEach((node) => node.toggleAttribute("data-lm-suppress-shortcuts", isKept));
  const first = (event) => {
    if (!event.composedPath().includes(root) || !isForNotebook(event)) return;
    keep(false);
    setTimeout(() => keep(true));
  };
  keep(true);
  window.addEventListener("keydown", first, true);
  for (const kind of ["keydown", "keypress", "keyup"]) {
    root.addEventListener(kind, (event) => {
      if (!isForNotebook(event)) event.stopPropagation();
      const isRepeated = event.repeat && event.key === "Enter";
      const runsCell = event.key === "Enter" && isForNotebook(event);
      if (isRepeated || runsCell) event.preventDefault(); // not a press of the button
      const isEscape = kind === "keydown" && event.key === "Escape" && !event.target.closest("[role=alertdialog]");
      if (isEscape) root.closest(".jp-Cell")?.focus();
    });
  }
  return () => window.removeEventListener("keydown", first, true);
}

// ---------------------------------------------------------------- the panel

let panels = 0;

function render({ model, el }) {
  const id = `pushlab-${Date.now()}-${panels++}`;
  const playing = { now: false };
  const move = (name, position) => {
    model.set("positions", { ...model.get("positions"), [name]: position });
    model.save_changes();
  };
  const controls = model.get("controls").map((control, index) => ({
    name: control.name,
    ...KINDS[control.kind](control, `${id}-${index}`, (position) => move(control.name, position)),
  }));
  const hasActions = model.get("actions").length > 0;
  const parts = [];
  if (model.get("interval")) parts.push(player(model, model.get("controls")[0], move, playing, () => rested()));
  if (hasActions) parts.push(seat(model));

  const image = element("img");
  const status = element("p", { role: "status" });
  const nodes = [...controls, ...parts].map(({ node }) => node);
  // The seat's picture is the situation to decide in, so it is above the controls.
  const children = hasActions ? [status, image, ...nodes] : [...nodes, image, status];
  const root = element("div", { class: "pushlab-panel" }, ...children);

  let timer = null;
  const sharpen = () => {
    const pixels = image.clientWidth * window.devicePixelRatio;
    const isBlurred = model.get("shown").scale === 1 && pixels > 1.05 * image.naturalWidth;
    if (isBlurred && !playing.now) model.send({ sharpen: true });
  };
  const rested = () => {
    status.textContent = model.get("shown").caption;
    image.style.setProperty("--sharp", 2 / window.devicePixelRatio);
    clearTimeout(timer);
    timer = setTimeout(sharpen, REST);
  };
  const showPicture = () => {
    const { png, alt, error } = model.get("shown");
    URL.revokeObjectURL(image.src);
    image.src = URL.createObjectURL(new Blob([png], { type: "image/png" }));
    image.alt = alt;
    status.classList.toggle("error", error);
    if (!playing.now) rested(); // a status that changes with each frame would be spoken without a pause
    parts.forEach(({ show }) => show());
  };
  const showPositions = () => {
    controls.forEach(({ name, show }) => show(model.get("positions")[name]));
    parts.forEach(({ show }) => show());
  };
  image.addEventListener("load", () => {
    image.style.setProperty("--width", `${image.naturalWidth / model.get("shown").scale}px`);
    image.style.setProperty("--ratio", image.naturalWidth / image.naturalHeight);
  });
  const stopKeys = keepKeys(root);
  const sizes = new ResizeObserver(rested);
  sizes.observe(root);
  model.on("change:shown", showPicture);
  model.on("change:positions", showPositions);
  showPositions();
  showPicture();
  el.append(root);
  return () => {
    playing.now = false;
    clearTimeout(timer);
    stopKeys();
    sizes.disconnect();
    model.off("change:shown", showPicture);
    model.off("change:positions", showPositions);
    URL.revokeObjectURL(image.src);
  };
}

export default { render };
