// The page's data: unpacked once, and the coarser levels of each series built from its steps.

const byId = id => document.getElementById(id);

function bytesOf(id) {
  const text = byId(id).textContent;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

const NONE = -(2 ** 52);

// A column of integers: sign in the lowest bit, seven bits a byte, differences of first or second order.
function unpack(bytes, { at, count, order }) {
  const values = new Float64Array(count);
  let previous = 0, slope = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++];
    const negative = byte & 1;
    let size = (byte & 0x7f) >> 1, scale = 64;
    while (byte >= 0x80) {
      byte = bytes[at++];
      size += (byte & 0x7f) * scale;
      scale *= 128;
    }
    const step = negative ? -size - 1 : size;
    const difference = order === 2 ? slope + step : step;
    previous += difference;
    slope = difference;
    values[i] = previous === NONE ? NaN : previous;
  }
  return values;
}

// Columns that are unpacked when first asked for.
function lazily(places, bytes) {
  const columns = {};
  for (const [name, place] of Object.entries(places)) {
    const get = () => {
      const value = unpack(bytes, place);
      Object.defineProperty(columns, name, { value });
      return value;
    };
    Object.defineProperty(columns, name, { get, configurable: true });
  }
  return columns;
}

const QUANTITIES = ['latency', 'execution', 'period_error'];
// Every coarser level joins so many steps of the finer one.
const JOIN = 2;

function joined(level) {
  const count = Math.ceil(level.due.length / JOIN);
  const next = { due: new Float64Array(count), executed: new Float64Array(count), missed: new Float64Array(count) };
  for (const quantity of QUANTITIES) {
    next[quantity] = { min: new Float64Array(count), mean: new Float64Array(count), max: new Float64Array(count) };
  }
  for (let i = 0; i < count; i++) {
    const from = i * JOIN, to = Math.min(from + JOIN, level.due.length);
    next.due[i] = level.due[from];
    for (let j = from; j < to; j++) {
      next.executed[i] += level.executed[j];
      next.missed[i] += level.missed[j];
    }
    for (const quantity of QUANTITIES) {
      const { min, mean, max } = level[quantity];
      let low = NaN, high = NaN, sum = 0, weight = 0;
      for (let j = from; j < to; j++) {
        if (Number.isNaN(min[j])) continue;
        if (!(low <= min[j])) low = min[j];
        if (!(high >= max[j])) high = max[j];
        sum += mean[j] * level.executed[j];
        weight += level.executed[j];
      }
      next[quantity].min[i] = low;
      next[quantity].max[i] = high;
      next[quantity].mean[i] = weight ? sum / weight : NaN;
    }
  }
  return next;
}

// First position whose value is not below `value`.
function lowerBound(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

class TaskSeries {
  constructor(task, bytes) {
    this.task = task;
    const column = place => unpack(bytes, place), { values, ...common } = task.exact;
    this.exact = lazily({ ...common, ...values }, bytes);
    let level;
    if (task.complete) {
      const ones = new Float64Array(this.exact.due.length).fill(1);
      level = { due: this.exact.due, executed: ones, missed: this.exact.missed };
      for (const quantity of QUANTITIES) {
        const values = this.exact[quantity];
        level[quantity] = { min: values, mean: values, max: values };
      }
    } else {
      const { due, executed, missed, extents } = task.steps;
      level = { due: column(due), executed: column(executed), missed: column(missed) };
      for (const quantity of QUANTITIES) {
        const [min, mean, max] = extents[quantity].map(column);
        level[quantity] = { min, mean, max };
      }
    }
    this.levels = [level];
    while (level.due.length > 256) this.levels.push(level = joined(level));
  }

  // What to draw between two times (ns): the finest level with at most `most` steps, and the exact activations
  // where they are few enough to be told apart.
  view(from, to, most) {
    let level = 0, first, last;
    for (; ; level++) {
      const { due } = this.levels[level];
      first = Math.max(lowerBound(due, from) - 1, 0);
      last = Math.min(lowerBound(due, to) + 1, due.length);
      if (last - first <= most || level + 1 === this.levels.length) break;
    }
    const start = lowerBound(this.exact.due, from), end = lowerBound(this.exact.due, to);
    const single = end - start <= 3 * most;
    return { level, first, last, start, end: single ? end : start, hidden: single ? 0 : end - start };
  }

  // Positions in `exact` by falling latency, each spike once: not two within 32 activations.
  largest(count) {
    const { latency, index } = this.exact, found = [];
    const order = Array.from(latency.keys()).sort((a, b) => latency[b] - latency[a]);
    for (const i of order) {
      if (found.length === count) break;
      if (found.every(other => Math.abs(index[other] - index[i]) > 32)) found.push(i);
    }
    return found;
  }
}
