// The attention explorer: what each token of a text reads, in every layer and head.
// shared/drawing/explorer.py writes this function into the page and calls it with the data below.
//
// data.explorer  the name of the elements that this script may change: <div data-explorer="...">
// data.tokens    the tokens as they are shown;  data.names: the same in quotes, equal ones told apart
// data.layers    how many there are;            data.heads: their names, the last one may be the average
// data.causal    whether no token reads a later one: then only the lower triangle of each map is in the data
// data.levels    the weights, layer by layer, head by head, row by row: a byte each, in half percents, as base64
// data.layer, data.head, data.token: where it opens
// data.colors    a color for each level, six hexadecimal digits
function attentionExplorer(data) {
  "use strict";

  const PAGE = `
    <style>
      :host { display: block; font: 14px/1.5 system-ui, sans-serif; text-align: left; }
      * { box-sizing: border-box; }
      p { margin: 0; overflow-wrap: anywhere; }
      .controls { display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; }
      select { font: inherit; margin-left: 4px; padding: 3px 6px; max-width: 12em;
        color: #000; background: #fff; border: 1px solid #767676; border-radius: 5px; }
      .scale { display: inline-flex; align-items: center; gap: 6px; }
      .scale i { width: 90px; height: 12px; border: 1px solid #7d8590; border-radius: 3px; }
      .columns { display: flex; flex-wrap: wrap; gap: 14px; align-items: flex-start; margin: 10px 0; }
      .reading { flex: 1 1 300px; min-width: 0; }
      .heads { flex: 0 1 auto; min-width: 0; max-width: 100%; }
      /* White in every theme, as the figures are: the darker, the more. */
      .paper { margin: 4px 0 10px; padding: 10px; color: #000; background: #fff; forced-color-adjust: none;
        border: 1px solid #7d8590; border-radius: 8px; }
      .tokens { display: flex; flex-wrap: wrap; gap: 7px; }
      .maps { display: grid; gap: 5px; align-items: center; width: fit-content; max-width: 100%; overflow-x: auto;
        font-size: 12px; line-height: 1.2; }
      .maps span { text-align: center; white-space: nowrap; }
      .maps .wide { grid-column: 2 / -1; }
      button { margin: 0; font: inherit; color: #000; background: #fff; cursor: pointer;
        border: 1px solid #7d8590; border-radius: 6px; }
      .tokens button { min-width: 44px; max-width: 100%; padding: 3px 6px 2px; overflow-wrap: anywhere; }
      .tokens small { display: block; height: 15px; font-size: 11px; line-height: 15px; }
      .tokens button.later { color: #59636e; border-style: dashed; }
      .maps button { position: relative; padding: 0; border-radius: 2px; }
      .maps canvas { display: block; width: 100%; aspect-ratio: 1; image-rendering: pixelated; }
      .tokens button.reader, .maps button[aria-checked="true"] {
        border-color: #d55e00; box-shadow: 0 0 0 2px #d55e00; }
      /* In the chosen map, the row of the token that reads. */
      .maps [aria-checked="true"]::after {
        content: ""; position: absolute; left: 0; right: 0; outline: 1px solid #d55e00;
        top: calc(100% * var(--query) / var(--length)); height: calc(100% / var(--length)); }
      :focus-visible { outline: 3px solid #0072b2; outline-offset: 3px; }
      .sentence { font-size: 16px; min-height: 3em; }
      summary { cursor: pointer; }
      .still { margin-top: 8px; max-width: 100%; overflow-x: auto; }
    </style>
    <div class="controls">
      <label>Layer<select class="layer"></select></label>
      <label>Head<select class="head"></select></label>
      <span class="scale" role="img" aria-label="White is a weight of 0 %, dark blue 100 %">0 %<i></i>100 %</span>
    </div>
    <div class="columns">
      <div class="reading">
        <p>Choose a token to frame it. The darker another one, the more the framed token reads from it.</p>
        <div class="paper tokens" role="radiogroup" aria-label="The token that reads"></div>
        <p class="sentence" aria-live="polite"></p>
      </div>
      <div class="heads">
        <p>All heads. Each row of a map is a token that reads.</p>
        <div class="paper maps" role="radiogroup" aria-label="Layer and head"></div>
      </div>
    </div>
    <details>
      <summary>The same as a figure and a table</summary>
      <div class="still"><slot></slot></div>
    </details>`;

  const length = data.tokens.length;
  const heads = data.heads.length;
  const mapSize = data.causal ? (length * (length + 1)) / 2 : length * length;
  const levels = Uint8Array.from(atob(data.levels), (letter) => letter.charCodeAt(0));
  const color = (level) => "#" + data.colors.slice(6 * level, 6 * level + 6);
  // A level of 122 means from 61.0 to 61.5 %, one of 123 from 61.5 to 62.0 %.
  // \u00a0 is a space at which no line ends.
  const percent = (level) => `${Math.ceil(level / 2)}\u00a0%`;
  const numbers = (count) => [...Array(count).keys()];
  // For each level its color as a pixel: red, green, blue and opacity, from 0 to 255.
  const pixels = numbers(201).map((level) => {
    const part = (at) => parseInt(color(level).slice(at, at + 2), 16);
    return [part(1), part(3), part(5), 255];
  });

  // The weight with which `query` reads `key`, from 0 to 200.
  function levelOf(layer, head, query, key) {
    if (data.causal && key > query) return 0;
    const row = data.causal ? (query * (query + 1)) / 2 : query * length;
    return levels[(layer * heads + head) * mapSize + row + key];
  }

  // "the" reads 61 % from "cat" and 12 % from itself.
  function sentence(layer, head, query) {
    const read = numbers(length)
      .map((key) => ({ key, level: levelOf(layer, head, query, key) }))
      .filter(({ level }) => level > 0)
      .sort((a, b) => b.level - a.level || a.key - b.key)
      .slice(0, 3)
      .map(({ key, level }) => `${percent(level)} from ${key === query ? "itself" : data.names[key]}`);
    const last = read.pop();
    const told = read.length ? `${read.join(", ")} and ${last}` : last;
    const where = data.heads[head] === "average" ? `the average of its heads` : `head ${data.heads[head]}`;
    return `In layer ${layer}, ${where}, ${data.names[query]} reads ${told || "nothing: all is masked"}.`;
  }

  function add(parent, tag, text, className) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (className) element.className = className;
    return parent.appendChild(element);
  }

  const withAnotherKey = (event) => event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;

  // Buttons of which one is chosen: the Tab key finds that one, the arrow keys choose another.
  // Returns a function that marks the choice.
  function radioButtons(group, buttons, columns, choose) {
    buttons.forEach((button, number) => {
      button.type = "button";
      button.setAttribute("role", "radio");
      button.addEventListener("click", () => choose(number));
    });
    group.addEventListener("keydown", (event) => {
      const from = buttons.indexOf(event.target);
      const targets = {
        ArrowLeft: from - 1,
        ArrowRight: from + 1,
        ArrowUp: from - columns,
        ArrowDown: from + columns,
        Home: 0,
        End: buttons.length - 1,
      };
      if (!(event.key in targets) || withAnotherKey(event)) return;
      event.preventDefault(); // the page would scroll
      const to = targets[event.key];
      if (to in buttons) {
        choose(to);
        buttons[to].focus();
      }
    });
    return (chosen) =>
      buttons.forEach((button, number) => {
        button.setAttribute("aria-checked", number === chosen);
        button.tabIndex = number === chosen ? 0 : -1;
      });
  }

  // A map as an image of one pixel a weight, which the style sheet enlarges.
  function draw(canvas, layer, head) {
    canvas.width = canvas.height = length;
    const context = canvas.getContext("2d");
    const image = context.createImageData(length, length);
    for (const query of numbers(length)) {
      for (const key of numbers(length)) {
        image.data.set(pixels[levelOf(layer, head, query, key)], 4 * (query * length + key));
      }
    }
    context.putImageData(image, 0, 0);
  }

  function build(root) {
    const page = root.attachShadow({ mode: "open" }); // no style of the page comes in, and none of ours gets out
    page.innerHTML = PAGE;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", root.querySelector("img").alt);
    root.addEventListener("keydown", (event) => {
      // In JupyterLab, a single key may choose another cell, or delete this one: not while the explorer has the focus.
      if (!withAnotherKey(event)) event.stopPropagation();
    });
    const find = (selector) => page.querySelector(selector);
    const chosen = { layer: data.layer, head: data.head, token: data.token };

    const layerSelect = find(".layer");
    const headSelect = find(".head");
    numbers(data.layers).forEach((layer) => add(layerSelect, "option", layer));
    data.heads.forEach((name) => add(headSelect, "option", name));
    find(".scale i").style.background = `linear-gradient(to right, ${numbers(201).map(color)})`;

    const tokenButtons = data.tokens.map((token, number) => {
      const button = add(find(".tokens"), "button", token);
      button.setAttribute("aria-label", `${token}, position ${number}`);
      add(button, "small", "");
      return button;
    });

    const maps = find(".maps");
    const side = Math.max(16, Math.min(84, Math.floor(400 / heads)));
    maps.style.gridTemplateColumns = `max-content repeat(${heads}, minmax(14px, ${side}px))`;
    maps.style.setProperty("--length", length);
    add(maps, "span", "");
    add(maps, "span", "head", "wide");
    add(maps, "span", "layer");
    data.heads.forEach((name) => add(maps, "span", name === "average" ? "avg" : name));
    const mapButtons = [];
    for (const layer of numbers(data.layers)) {
      add(maps, "span", layer);
      for (const head of numbers(heads)) {
        const button = add(maps, "button", "");
        button.setAttribute("aria-label", `layer ${layer}, head ${data.heads[head]}`);
        draw(add(button, "canvas", ""), layer, head);
        mapButtons.push(button);
      }
    }

    // Shade every token by the weight with which `query` reads it.
    function show(query) {
      tokenButtons.forEach((button, key) => {
        const level = levelOf(chosen.layer, chosen.head, query, key);
        button.style.background = color(level);
        button.style.color = level > data.white ? "#fff" : "";
        button.classList.toggle("reader", key === query);
        button.classList.toggle("later", data.causal && key > query);
        button.lastChild.textContent = level ? percent(level) : "";
      });
      maps.style.setProperty("--query", query);
      find(".sentence").textContent = sentence(chosen.layer, chosen.head, query);
    }

    function chooseToken(number) {
      chosen.token = number;
      markToken(number);
      show(number);
    }

    function chooseMap(number) {
      chosen.layer = Math.floor(number / heads);
      chosen.head = number % heads;
      layerSelect.selectedIndex = chosen.layer;
      headSelect.selectedIndex = chosen.head;
      markMap(number);
      show(chosen.token);
    }

    const markToken = radioButtons(find(".tokens"), tokenButtons, 1, chooseToken);
    const markMap = radioButtons(maps, mapButtons, heads, chooseMap);
    const chooseSelected = () => chooseMap(layerSelect.selectedIndex * heads + headSelect.selectedIndex);
    layerSelect.addEventListener("change", chooseSelected);
    headSelect.addEventListener("change", chooseSelected);
    tokenButtons.forEach((button, number) => button.addEventListener("mouseenter", () => show(number)));
    find(".tokens").addEventListener("mouseleave", () => show(chosen.token));
    chooseToken(chosen.token);
    chooseMap(chosen.layer * heads + chosen.head);
  }

  for (const root of document.querySelectorAll(`[data-explorer="${data.explorer}"]`)) {
    if (!root.shadowRoot) build(root); // the same output may be on the page twice
  }
}
