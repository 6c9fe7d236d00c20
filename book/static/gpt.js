// The GPT of chapter 14, with its backward pass by hand, in plain JavaScript: the same formulas as notebooks/14_gpt/numpy.ipynb
// and the chapters before it, one sentence at a time. A matrix is a Float64Array, row after row; x[row * columns + column].
// tests/browser/test_gpt.py holds its logits, every gradient and ten steps of AdamW to NumPy's, to 1e-12.
// There: width = d_model, hidden = d_ff, heads = num_heads, words = vocab_size, length = max_length, blocks = num_layers.
"use strict";

const GPT = (() => {
  const zeros = (size) => new Float64Array(size);

  // a (n, k) times b (k, m), added to out (n, m)
  const multiply = (a, b, n, k, m, out = zeros(n * m)) => {
    for (let i = 0; i < n; i++)
      for (let p = 0; p < k; p++) {
        const factor = a[i * k + p];
        for (let j = 0; j < m; j++) out[i * m + j] += factor * b[p * m + j];
      }
    return out;
  };

  const transpose = (a, n, m) => {
    const out = zeros(n * m);
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j * n + i] = a[i * m + j];
    return out;
  };

  const add = (a, b) => a.map((value, i) => value + b[i]);

  // The parameters, by the names that they have in NumPy, and how large they are.
  const shapes = ({ width, hidden, words, length, blocks }) => {
    const found = { "tokens.embeddings": [words, width], "positions.embeddings": [length, width] };
    const linear = (name, from, to) => Object.assign(found, { [name + ".kernel"]: [from, to], [name + ".bias"]: [to] });
    const norm = (name) => Object.assign(found, { [name + ".gamma"]: [width], [name + ".beta"]: [width] });
    for (let b = 0; b < blocks; b++) {
      for (const part of ["query", "key", "value", "output"]) linear(`blocks.${b}.attention.${part}`, width, width);
      norm(`blocks.${b}.attention_residual.norm`);
      linear(`blocks.${b}.feed_forward.expand`, width, hidden);
      linear(`blocks.${b}.feed_forward.contract`, hidden, width);
      norm(`blocks.${b}.feed_forward_residual.norm`);
    }
    norm("norm");
    return found;
  };

  class Model {
    // sizes: width, heads, hidden, words, length, blocks. random draws numbers in [0, 1).
    constructor(sizes, random = Math.random) {
      Object.assign(this, sizes, { weights: {}, gradients: {} });
      // A normal number from two even ones (Box and Muller).
      const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      for (const [name, shape] of Object.entries(shapes(sizes))) {
        const size = shape.reduce((a, b) => a * b);
        // What is added to x starts smaller, because two such sums a block add up.
        const adds = name.endsWith("output.kernel") || name.endsWith("contract.kernel");
        const scale = adds ? 0.02 / Math.sqrt(2 * sizes.blocks) : 0.02;
        this.weights[name] = zeros(size).fill(name.endsWith("gamma") ? 1 : 0);
        if (shape.length > 1) this.weights[name] = this.weights[name].map(() => scale * normal());
        this.gradients[name] = zeros(size);
      }
    }

    // y = x W + b. Backward: the gradients of W and b are added up, that of x is returned.
    linear(name, x, n, from, to) {
      const bias = this.weights[name + ".bias"];
      const y = zeros(n * to).map((_, i) => bias[i % to]);
      return multiply(x, this.weights[name + ".kernel"], n, from, to, y);
    }

    linearBackward(name, x, grad, n, from, to) {
      multiply(transpose(x, n, from), grad, from, n, to, this.gradients[name + ".kernel"]);
      const bias = this.gradients[name + ".bias"];
      grad.forEach((value, i) => (bias[i % to] += value));
      return multiply(grad, transpose(this.weights[name + ".kernel"], from, to), n, to, from);
    }

    // LayerNorm of each row (chapter 07): less its mean, over its standard deviation, times gamma, plus beta.
    norm(name, x, n) {
      const d = this.width, normal = zeros(n * d), scale = zeros(n);
      for (let i = 0; i < n; i++) {
        const row = x.subarray(i * d, (i + 1) * d);
        const mean = row.reduce((a, b) => a + b) / d;
        scale[i] = 1 / Math.sqrt(row.reduce((sum, value) => sum + (value - mean) * (value - mean), 0) / d + 1e-5);
        row.forEach((value, j) => (normal[i * d + j] = (value - mean) * scale[i]));
      }
      const gamma = this.weights[name + ".gamma"], beta = this.weights[name + ".beta"];
      return { y: normal.map((value, i) => value * gamma[i % d] + beta[i % d]), normal, scale };
    }

    // The gradient less its mean, and less its part along the normalized row; then over the standard deviation.
    normBackward(name, { normal, scale }, grad, n) {
      const d = this.width, gamma = this.weights[name + ".gamma"], out = zeros(n * d);
      for (let i = 0; i < n; i++) {
        let mean = 0, along = 0;
        for (let j = 0; j < d; j++) {
          const at = i * d + j;
          this.gradients[name + ".gamma"][j] += grad[at] * normal[at];
          this.gradients[name + ".beta"][j] += grad[at];
          mean += (grad[at] * gamma[j]) / d;
          along += (grad[at] * gamma[j] * normal[at]) / d;
        }
        for (let j = 0; j < d; j++) out[i * d + j] = (grad[i * d + j] * gamma[j] - mean - normal[i * d + j] * along) * scale[i];
      }
      return out;
    }

    // Causal attention (chapter 06): a position mixes the values of those up to itself. weights[head][query * n + key]
    attention(block, x, n) {
      const d = this.width, size = d / this.heads, name = `blocks.${block}.attention.`;
      const [q, k, v] = ["query", "key", "value"].map((part) => this.linear(name + part, x, n, d, d));
      const mixed = zeros(n * d), weights = [];
      for (let head = 0; head < this.heads; head++) {
        const w = zeros(n * n), first = head * size;
        for (let i = 0; i < n; i++) {
          const scores = [];
          for (let j = 0; j <= i; j++) {
            let score = 0;
            for (let c = first; c < first + size; c++) score += q[i * d + c] * k[j * d + c];
            scores.push(score / Math.sqrt(size));
          }
          softmax(scores).forEach((weight, j) => {
            w[i * n + j] = weight;
            for (let c = first; c < first + size; c++) mixed[i * d + c] += weight * v[j * d + c];
          });
        }
        weights.push(w);
      }
      return { y: this.linear(name + "output", mixed, n, d, d), x, q, k, v, mixed, weights };
    }

    attentionBackward(block, { x, q, k, v, mixed, weights }, grad, n) {
      const d = this.width, size = d / this.heads, name = `blocks.${block}.attention.`;
      const gMixed = this.linearBackward(name + "output", mixed, grad, n, d, d);
      const gQ = zeros(n * d), gK = zeros(n * d), gV = zeros(n * d);
      weights.forEach((w, head) => {
        for (let i = 0; i < n; i++) {
          const gW = zeros(i + 1);
          let along = 0; // softmax: the gradient of score j is w[j] * (gW[j] - sum of w * gW)
          for (let j = 0; j <= i; j++) {
            for (let c = head * size; c < (head + 1) * size; c++) {
              gW[j] += gMixed[i * d + c] * v[j * d + c];
              gV[j * d + c] += w[i * n + j] * gMixed[i * d + c];
            }
            along += w[i * n + j] * gW[j];
          }
          for (let j = 0; j <= i; j++) {
            const gScore = (w[i * n + j] * (gW[j] - along)) / Math.sqrt(size);
            for (let c = head * size; c < (head + 1) * size; c++) {
              gQ[i * d + c] += gScore * k[j * d + c];
              gK[j * d + c] += gScore * q[i * d + c];
            }
          }
        }
      });
      const parts = { query: gQ, key: gK, value: gV };
      const back = ([part, g]) => this.linearBackward(name + part, x, g, n, d, d);
      return Object.entries(parts).map(back).reduce(add);
    }

    // tokens: whole numbers. logits[position * words + token] is for what comes after a position.
    forward(tokens) {
      const n = tokens.length, d = this.width, table = this.weights["tokens.embeddings"];
      let x = zeros(n * d).map((_, at) => {
        const i = Math.floor(at / d), j = at % d;
        return table[tokens[i] * d + j] + // row i of the positions is position i: the same index
          this.weights["positions.embeddings"][at];
      });
      const saved = [];
      for (let b = 0; b < this.blocks; b++) {
        const norm1 = this.norm(`blocks.${b}.attention_residual.norm`, x, n);
        const attention = this.attention(b, norm1.y, n);
        x = add(x, attention.y);
        const norm2 = this.norm(`blocks.${b}.feed_forward_residual.norm`, x, n);
        const expanded = this.linear(`blocks.${b}.feed_forward.expand`, norm2.y, n, d, this.hidden);
        const active = expanded.map(gelu);
        x = add(x, this.linear(`blocks.${b}.feed_forward.contract`, active, n, this.hidden, d));
        saved.push({ norm1, attention, norm2, expanded, active });
      }
      const last = this.norm("norm", x, n);
      const logits = multiply(last.y, transpose(table, this.words, d), n, d, this.words); // the table is the output layer, too
      return { logits, tokens, saved, last };
    }

    // The same in the opposite order, for the gradient of the logits.
    backward({ tokens, saved, last }, grad) {
      const n = tokens.length, d = this.width, gTable = this.gradients["tokens.embeddings"];
      multiply(transpose(grad, n, this.words), last.y, this.words, n, d, gTable);
      let g = multiply(grad, this.weights["tokens.embeddings"], n, this.words, d);
      g = this.normBackward("norm", last, g, n);
      for (let b = this.blocks - 1; b >= 0; b--) {
        const { norm1, attention, norm2, expanded, active } = saved[b];
        let inner = this.linearBackward(`blocks.${b}.feed_forward.contract`, active, g, n, this.hidden, d);
        inner = inner.map((value, i) => value * geluSlope(expanded[i]));
        inner = this.linearBackward(`blocks.${b}.feed_forward.expand`, norm2.y, inner, n, d, this.hidden);
        g = add(g, this.normBackward(`blocks.${b}.feed_forward_residual.norm`, norm2, inner, n));
        inner = this.attentionBackward(b, attention, g, n);
        g = add(g, this.normBackward(`blocks.${b}.attention_residual.norm`, norm1, inner, n));
      }
      g.forEach((value, at) => {
        gTable[tokens[Math.floor(at / d)] * d + (at % d)] += value;
        this.gradients["positions.embeddings"][at] += value;
      });
    }
  }

  const softmax = (scores) => {
    const highest = Math.max(...scores);
    const exps = scores.map((score) => Math.exp(score - highest));
    const sum = exps.reduce((a, b) => a + b);
    return exps.map((value) => value / sum);
  };

  // GELU by tanh, as GPT-2 has it, and its derivative (chapter 07).
  const inside = (x) => Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x));
  const gelu = (x) => 0.5 * x * (1 + inside(x));
  const geluSlope = (x) => {
    const t = inside(x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x * x);
  };

  // The mean of -log(probability of the next token), in nats, over all rows; the gradients are added up if `learns`.
  // A row is a sentence's tokens, and 0 at its end. The model reads 0 and the row but for its last token; each position predicts
  // the row's token there.
  const loss = (model, rows, learns = true) => {
    const count = rows.reduce((sum, row) => sum + row.length, 0);
    let total = 0;
    for (const row of rows) {
      const pass = model.forward([0, ...row.slice(0, -1)]);
      const grad = zeros(pass.logits.length);
      row.forEach((target, i) => {
        const at = i * model.words, probs = softmax([...pass.logits.subarray(at, at + model.words)]);
        total -= Math.log(probs[target]);
        probs.forEach((p, token) => (grad[at + token] = (p - (token === target)) / count));
      });
      if (learns) model.backward(pass, grad);
    }
    return total / count;
  };

  // AdamW without weight decay, which is Adam (chapter 09): two running means for each weight, corrected for their start at 0.
  class AdamW {
    constructor(model, rate) {
      Object.assign(this, { model, rate, steps: 0, moments: {} });
      for (const [name, weight] of Object.entries(model.weights)) this.moments[name] = [zeros(weight.length), zeros(weight.length)];
    }

    step() {
      const rate = this.rate(this.steps++), start1 = 1 - 0.9 ** this.steps, start2 = 1 - 0.999 ** this.steps;
      for (const [name, [m, v]] of Object.entries(this.moments)) {
        const weight = this.model.weights[name], grad = this.model.gradients[name];
        for (let i = 0; i < weight.length; i++) {
          m[i] = 0.9 * m[i] + 0.1 * grad[i];
          v[i] = 0.999 * v[i] + 0.001 * grad[i] * grad[i];
          weight[i] -= (rate * (m[i] / start1)) / (Math.sqrt(v[i] / start2) + 1e-8);
        }
        grad.fill(0);
      }
    }
  }

  // What the next token is drawn from (chapter 14): logits over the temperature (below 1e-4 the likeliest alone), the topK
  // highest, softmax, the likeliest that add up to topP, over their sum. Equal ones at an edge all stay.
  const probabilities = (logits, temperature, topK, topP) => {
    const order = logits.map((_, token) => token).sort((a, b) => logits[b] - logits[a]);
    if (temperature < 1e-4) return logits.map((_, token) => (token === order[0] ? 1 : 0));
    const kept = logits.map((value) => (value >= logits[order[Math.min(topK, order.length) - 1]] ? value / temperature : -Infinity));
    const probs = softmax(kept);
    let sum = 0, smallest = 0;
    for (const token of order) {
      if (sum >= topP) break;
      smallest = probs[token];
      sum += smallest;
    }
    const few = probs.map((p) => (p >= smallest ? p : 0)), total = few.reduce((a, b) => a + b);
    return few.map((p) => p / total);
  };

  // A sentence, word by word, until its end or as long as the model can read.
  const write = (model, { temperature = 1, topK = Infinity, topP = 1, random = Math.random }) => {
    const row = [0];
    while (row.length < model.length) {
      const { logits } = model.forward(row);
      const probs = probabilities([...logits.subarray(-model.words)], temperature, topK, topP);
      let uniform = random(), token = 0;
      while (token < model.words - 1 && uniform >= probs[token]) uniform -= probs[token++];
      row.push(token);
      if (token === 0) break;
    }
    return row.slice(1);
  };

  return { Model, AdamW, loss, probabilities, write };
})();
