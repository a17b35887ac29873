// The page's data: unpacked once, and the coarser levels of each series built from its steps.

const NONE = -(2 ** 52);

async function unzipped(id) {
  const text = byId(id).textContent;
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

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
// A coarser level: each of its steps joins `by` of the finer one.
function joined(level, by) {
  const length = level.due.length, count = Math.ceil(length / by);
  const column = () => new Float64Array(count);
  const next = { due: column(), executed: column(), missed: column() };
  for (let j = 0; j < length; j++) {
    const i = Math.floor(j / by);
    if (j % by === 0) next.due[i] = level.due[j];
    next.executed[i] += level.executed[j];
    next.missed[i] += level.missed[j];
  }
  for (const quantity of QUANTITIES) {
    const { min, mean, max } = level[quantity], { executed } = level;
    const coarse = next[quantity] = { min: column(), mean: column(), max: column() };
    for (let i = 0, j = 0; i < count; i++) {
      let low = NaN, high = NaN, sum = 0, weight = 0;
      for (const end = Math.min(j + by, length); j < end; j++) {
        if (min[j] !== min[j]) continue;
        if (!(low <= min[j])) low = min[j];
        if (!(high >= max[j])) high = max[j];
        sum += mean[j] * executed[j];
        weight += executed[j];
      }
      coarse.min[i] = low;
      coarse.max[i] = high;
      coarse.mean[i] = weight ? sum / weight : NaN;
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
  }

  // The level whose steps join 2 ** power of the finest, made when first asked for.
  level(power) {
    return this.levels[power] ??= joined(this.levels[0], 2 ** power);
  }

  // What to draw between two times (ns): the finest level with at most `most` steps, and the exact activations
  // where they are few enough to be told apart.
  view(from, to, most) {
    const finest = this.levels[0].due;
    const steps = lowerBound(finest, to) - lowerBound(finest, from) + 2;
    const level = Math.max(0, Math.ceil(Math.log2(steps / most))), { due } = this.level(level);
    const first = Math.max(lowerBound(due, from) - 1, 0), last = Math.min(lowerBound(due, to) + 1, due.length);
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
