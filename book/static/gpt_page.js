// What the book's first page shows of gpt.js: training, loss, sentences, attention. Nothing leaves the page.
"use strict";

(() => {
  const template = document.getElementById("gpt-template");
  if (!template) return;
  const page = template.content.firstElementChild.cloneNode(true);
  template.after(page);
  for (const still of document.querySelectorAll(".gpt-still")) still.hidden = true;
  const $ = (name) => page.querySelector(name);

  const STEPS = 600, BATCH = 16, WARMUP = 60, PEAK = 0.01, EVERY = 20; // EVERY: how often the held-out loss is measured
  const MOST_WORDS = 1000, FEWEST_SENTENCES = 20, LENGTH = 32;
  let text, model, optimizer, random, losses, heldOut, running = false;

  // The same numbers in [0, 1) on every run, so that the page shows everybody the same (mulberry32).
  const generator = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };

  // Sentences as tokens. Token 0 is the end of a sentence, the others are its words in the order of the alphabet.
  const read = (written, kept, best) => {
    const split = written.toLowerCase().split(/[.!?\n]+/);
    const sentences = split.map((each) => each.match(/[\p{L}\p{N}'’-]+|[^\s\p{L}\p{N}]/gu) || []).filter((each) => each.length);
    const words = [".", ...new Set(sentences.flat().sort())];
    if (sentences.length < FEWEST_SENTENCES) throw new Error(`${sentences.length} sentences: expected at least ${FEWEST_SENTENCES}`);
    if (words.length > MOST_WORDS) throw new Error(`${words.length} different words: expected at most ${MOST_WORDS}; leave out some lines`);
    const number = new Map(words.map((word, token) => [word, token]));
    const rows = sentences.map((each) => [...each.map((word) => number.get(word)), 0].slice(0, LENGTH - 1));
    const first = rows.length - (kept || Math.ceil(rows.length / 10)); // the last ones are held out
    return { words, number, best, train: rows.slice(0, first), heldOut: rows.slice(first) };
  };

  const anew = () => {
    random = generator(1);
    model = new GPT.Model({ width: 32, heads: 4, hidden: 128, words: text.words.length, length: LENGTH, blocks: 1 }, random);
    const rate = (step) => (step < WARMUP ? (PEAK * (step + 1)) / WARMUP : (PEAK * (1 + Math.cos((Math.PI * (step - WARMUP)) / (STEPS - WARMUP)))) / 2);
    optimizer = new GPT.AdamW(model, rate);
    losses = [];
    heldOut = [[0, GPT.loss(model, text.heldOut, false)]];
    $(".top-k").max = $(".top-k").value = text.words.length;
    say();
    draw();
  };

  const step = () => {
    const rows = Array.from({ length: BATCH }, () => text.train[Math.floor(random() * text.train.length)]);
    losses.push(GPT.loss(model, rows));
    optimizer.step();
    if (optimizer.steps % EVERY === 0) heldOut.push([optimizer.steps, GPT.loss(model, text.heldOut, false)]);
  };

  // A few steps, then the browser's turn.
  const run = () => {
    const until = performance.now() + 40;
    while (running && optimizer.steps < STEPS && performance.now() < until) step();
    if (optimizer.steps >= STEPS) running = false;
    const now = Math.floor(optimizer.steps / (2 * EVERY));
    if (now !== run.shown || !running) {
      run.shown = now;
      say();
      draw();
    } else drawLoss();
    if (running) setTimeout(run);
  };

  const say = () => {
    const done = optimizer.steps >= STEPS;
    $(".train").textContent = running ? "Pause" : done ? "Trained" : "Train";
    $(".train").disabled = done;
    const best = text.best ? `; the best possible is ${text.best.toFixed(2)}` : "";
    $(".said").textContent = `Step ${optimizer.steps} of ${STEPS}. Loss on sentences that it doesn't learn from: ${heldOut.at(-1)[1].toFixed(2)} nats a word${best}.`;
  };

  const draw = () => {
    drawLoss();
    write();
    attention();
  };

  const drawLoss = () => {
    const width = 640, height = 220, left = 44, right = 150, top = 12, bottom = 40;
    const most = Math.max(Math.log(text.words.length), ...losses, ...heldOut.map(([, loss]) => loss)) * 1.02;
    const least = Math.min(text.best || Infinity, ...losses, heldOut.at(-1)[1]) * 0.9;
    const x = (at) => (left + ((width - left - right) * at) / STEPS).toFixed(1);
    const y = (loss) => (top + ((height - top - bottom) * (most - loss)) / (most - least)).toFixed(1);
    const means = losses.map((_, i) => { // of the last steps, because each has other sentences
      const last = losses.slice(Math.max(0, i - EVERY + 1), i + 1);
      return [i + 1, last.reduce((a, b) => a + b) / last.length];
    });
    const line = (points, name) => `<polyline class="${name}" points="${points.map(([at, loss]) => `${x(at)},${y(loss)}`).join(" ")}"/>`;
    const ticks = Array.from({ length: 5 }, (_, i) => least + ((most - least) * i) / 4);
    const ends = [["held-out", "held out", heldOut.at(-1)[1]], ["training", "training", means.at(-1)?.[1]], ["best", "best possible", text.best]];
    let below = Infinity; // names that would lie upon one another move up
    const labels = ends.filter((end) => end[2]).map((end) => [...end, +y(end[2])]).sort((a, b) => b[3] - a[3]);
    const names = labels.map(([name, words, , at]) => {
      below = Math.min(at, below - 16);
      return `<text class="${name}" x="${width - right + 8}" y="${below + 4}">${words}</text>`;
    });
    $("svg").setAttribute("aria-label", "The loss, in nats a word, by step. " + $(".said").textContent);
    $("svg").innerHTML =
      ticks.map((loss) => `<text x="${left - 6}" y="${+y(loss) + 4}" text-anchor="end">${loss.toFixed(1)}</text>`).join("") +
      [0, 200, 400, 600].map((at) => `<text x="${x(at)}" y="${height - bottom + 18}" text-anchor="middle">${at}</text>`).join("") +
      `<text x="${x(STEPS / 2)}" y="${height - 4}" text-anchor="middle">step (the loss, in nats a word)</text>` +
      `<path class="axis" d="M${left},${top}V${height - bottom}H${width - right}"/>` +
      (text.best ? line([[0, text.best], [STEPS, text.best]], "best") : "") + line(means, "training") + line(heldOut, "held-out") + names.join("");
  };

  const spoken = (tokens) => tokens.map((token) => text.words[token]).join(" ");

  const write = () => {
    const options = { temperature: +$(".temperature").value, topK: +$(".top-k").value, topP: +$(".top-p").value, random: generator(2) };
    for (const name of ["temperature", "top-k", "top-p"]) $(`.${name} + output`).textContent = $(`.${name}`).value;
    const lines = Array.from({ length: 5 }, () => spoken(GPT.write(model, options)));
    $(".written").replaceChildren(...lines.map((each) => Object.assign(document.createElement("li"), { textContent: each })));
  };

  // Which word takes how much from which: a row for each word, percent.
  const attention = () => {
    const words = $(".sentence").value.toLowerCase().match(/\S+/g) || [];
    const unknown = words.find((word) => !text.number.has(word));
    $(".unknown").textContent = unknown === undefined ? "" : `"${unknown}" is none of its words.`;
    if (unknown !== undefined) return;
    const tokens = [0, ...words.map((word) => text.number.get(word))].slice(0, LENGTH - 1), n = tokens.length;
    const weights = model.forward(tokens).saved[0].attention.weights[+$(".head").value];
    const names = tokens.map((token, i) => (i ? text.words[token] : "(begin)"));
    const cell = (i, j) => {
      const weight = weights[i * n + j], percent = Math.round(100 * weight);
      return j > i ? "<td></td>" : `<td style="--weight: ${percent}%">${percent}</td>`;
    };
    const safe = names.map((name) => Object.assign(document.createElement("i"), { textContent: name }).innerHTML);
    const head = safe.map((name) => `<th scope="col">${name}</th>`).join("");
    const rows = safe.map((name, i) => `<tr><th scope="row">${name}</th>${safe.map((_, j) => cell(i, j)).join("")}</tr>`).join("");
    $(".weights").innerHTML = `<caption>How much each word (row) takes from itself and those before it, in percent</caption><tr><td></td>${head}</tr>${rows}`;
  };

  const use = (written, kept, best) => {
    try {
      text = read(written, kept, best);
      $(".problem").textContent = "";
    } catch (error) {
      $(".problem").textContent = error.message;
      return;
    }
    running = false;
    if (!text.number.has($(".sentence").value.split(" ")[0])) $(".sentence").value = spoken(text.heldOut[0].slice(0, 8).filter(Boolean));
    anew();
  };

  $(".train").addEventListener("click", () => {
    running = !running;
    say();
    if (running) run();
  });
  $(".anew").addEventListener("click", () => {
    running = false;
    anew();
  });
  for (const name of [".temperature", ".top-k", ".top-p"]) $(name).addEventListener("input", write);
  for (const name of [".head", ".sentence"]) $(name).addEventListener("input", attention);
  $(".use").addEventListener("click", () => {
    const written = $("textarea").value;
    if (written === GPT_SENTENCES.text) use(written, GPT_SENTENCES.heldOut, GPT_SENTENCES.best);
    else use(written);
  });

  $("textarea").value = GPT_SENTENCES.text;
  use(GPT_SENTENCES.text, GPT_SENTENCES.heldOut, GPT_SENTENCES.best);
})();
