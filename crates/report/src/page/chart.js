// A chart on a canvas: the same layers over the same axes as in chart/panel.rs, for the stretch that is looked at.

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ROW = 16, MANY = 300;
const DASHES = { dashed: [7, 5], level: [7, 5], mark: [2, 4], box: [6, 4] };
// Lines that cross are told apart without colours, too: how often each is interrupted.
// Behind the six colours those of limits: the period, up to where it is good, up to where it is usable.
const PATTERNS = [[], [9, 3], [2, 3], [5, 5], [14, 4], [4, 4], [1, 3], [7, 5], []], PERIOD = 6;
const ruled = (colour, usual) => colour < PERIOD ? usual : PATTERNS[colour];
// Places in a layer's columns: across, and upwards.
const ACROSS = { line: [0], points: [0], band: [0], bars: [0, 1], counts: [0, 1], intervals: [0], frames: [0, 2], boxes: [0, 1], marks: [0], spans: [0, 1], cells: [0], level: [] };
const UPWARDS = { line: [1], points: [1], band: [1, 2], bars: [2], counts: [2], intervals: [1, 2, 3], frames: [1, 3], boxes: [], marks: [], spans: [], cells: [1], level: [0] };
// Half the height of a bar in its lane.
const HALF_SPAN = 0.36;
const dashes = (stroke, number, several) => stroke === 'dashed' ? DASHES.dashed : several && stroke !== 'dotted' ? PATTERNS[number] : [];
const crossing = layers => layers.filter(({ shape }) => shape.kind === 'line' && ['solid', 'steps'].includes(shape.stroke)).length > 1;
const fine = value => value !== null && Number.isFinite(value);

function extent(axis, lists, keep = () => true) {
  let low = Infinity, high = -Infinity;
  for (const values of lists) for (let i = 0; i < values.length; i++) {
    if (values[i] === null || !keep(i)) continue;
    const place = axis.place(values[i]);
    if (place < low) low = place;
    if (place > high) high = place;
  }
  return [low, high];
}

// From where to where the axes reach: all of the chart, or what of it lies in the stretch `across`.
function ranges(chart, x, y, layers, across) {
  const cells = layers.some(({ shape }) => shape.kind === 'cells'), margin = cells ? 0 : 0.04;
  const margins = (shape, i) => cells && shape.kind === 'cells' ? shape.size[i] / 2 : 0;
  const union = found => found.reduce(([a, b], [low, high]) => [Math.min(a, low), Math.max(b, high)], [Infinity, -Infinity]);
  const widened = ([low, high], by) => [low - by, high + by];
  const whole = () => reach(x, union(layers.map(({ shape }) => widened(extent(x, ACROSS[shape.kind].map(i => shape.columns[i])), margins(shape, 0)))), margin);
  const wide = across ?? whole();
  const foot = layers.some(({ shape }) => shape.kind === 'bars');
  const visible = shape => {
    const at = ACROSS[shape.kind];
    if (!across || !at.length || cells) return undefined;
    const left = shape.columns[at[0]], right = shape.columns[at.at(-1)], [from, to] = across;
    if (shape.kind !== 'line' && shape.kind !== 'band') return i => x.place(right[i]) >= from && x.place(left[i]) <= to;
    // A line that only passes through is seen as well.
    return i => x.place(left[Math.min(i + 1, left.length - 1)]) >= from && x.place(left[Math.max(i - 1, 0)]) <= to;
  };
  const held = across ? [] : [extent(y, [chart.y.holds ?? []])];
  let [low, high] = reach(y, union([...held, ...layers.map(({ shape }) => widened(extent(y, UPWARDS[shape.kind].map(i => shape.columns[i]), visible(shape)), margins(shape, 1)))]), margin);
  if (foot) low = y.log ? Math.min(low, -0.3) : Math.min(0, ...layers.filter(({ shape }) => shape.kind === 'bars').flatMap(({ shape }) => [...shape.columns[2]]));
  return [wide, [low, high]];
}

// Between two numbers of the palette of shades.
function shaded(share) {
  const { shades } = page, upper = Math.max(1, shades.findIndex(([at]) => at >= share)), [[from, a], [to, b]] = [shades[upper - 1], shades[upper]];
  return `rgb(${a.map((part, i) => Math.round(part + (share - from) / (to - from) * (b[i] - part))).join(' ')})`;
}

class Drawing {
  // `view`: the stretch that is looked at, in places of the axes; none for all.
  // `left`: the room left of it, at least.
  constructor(canvas, width, height, chart, layers, [x, y], view, left) {
    const density = Math.max(window.devicePixelRatio || 1, onPaper() ? 2 : 1);
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    Object.assign(this, { width, height, x, y, ink: css('--ink'), soft: css('--soft'), rule: css('--line'), paper: css('--paper') });
    this.g = canvas.getContext('2d');
    this.g.scale(density, density);
    this.colours = PATTERNS.map((_, i) => css('--c' + i));
    // A first guess of the room, since the bars' width and the ticks depend on each other.
    const wide = view.x ?? ranges(chart, x, y, layers)[0];
    this.several = crossing(layers);
    const counted = layers.filter(({ shape }) => shape.kind === 'counts').map(({ shape }) => shape.columns);
    const step = counted.length && stepWidth(counted, x, wide, Math.min(180, width / 4));
    this.layers = layers.map(layer => layer.shape.kind !== 'counts' ? layer : { ...layer, shape: { kind: 'bars', columns: bars(layer.shape.columns, x, step) } });
    const [across, upwards] = ranges(chart, x, y, this.layers, view.x);
    this.range = [across, view.y ?? upwards];
    this.layout(left);
    this.axes();
    this.g.save();
    this.g.beginPath();
    this.g.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    this.g.clip();
    this.layers.forEach((layer, number) => this[layer.shape.kind](layer.shape, this.colours[layer.colour], layer, number));
    this.g.restore();
    this.heads();
    this.keys();
  }

  font(size = 12) { this.g.font = `${size}px system-ui, sans-serif`; }
  column(value) { return this.columnOf(this.x.place(value)); }
  columnOf(place) { const [low, high] = this.range[0]; return this.left + (place - low) / (high - low) * (this.right - this.left); }
  row(value) { return this.rowOf(this.y.place(value)); }
  rowOf(place) { const [low, high] = this.range[1]; return this.bottom - (place - low) / (high - low) * (this.bottom - this.top); }

  // Room for ticks, titles and words at the head.
  layout(left) {
    this.font();
    const { g } = this, width = text => g.measureText(text).width, narrow = this.width < 500;
    this.upTicks = this.y.ticks(this.range[1], Math.max(2, Math.round(this.height / 45)));
    this.left = Math.min(Math.max(left - 12, 30, ...this.upTicks.map(([, words]) => width(words))) + 12, this.width / 2.5);
    const key = this.layers.find(({ shape }) => shape.kind === 'cells' && shape.key[1].length)?.shape.key;
    this.key = key;
    this.right = this.width - 10 - (key ? Math.max(width(key[0]), ...key[1].map(([, words]) => width(words) + 20)) + 12 : 0);
    this.wordsAbove = this.above();
    this.top = 26 + ROW * this.wordsAbove.rows;
    const room = this.right - this.left;
    const tickCount = Math.max(2, Math.round(room / (narrow ? 75 : 100)));
    this.acrossTicks = this.x.ticks(this.range[0], tickCount);
    // Names are broken into lines where they are too long for their place.
    const each = room / Math.max(1, this.acrossTicks.length) - 6;
    this.tickLines = this.acrossTicks.map(([place, words]) => [place, this.x.names ? this.broken(words, each) : [words]]);
    const lines = Math.max(1, ...this.tickLines.map(([, lines]) => lines.length));
    this.bottom = this.height - 10 - 14 * lines - (this.x.axis.title ? 18 : 0);
  }

  broken(text, room) {
    const lines = [''];
    for (const word of text.split(' ')) {
      const longer = (lines.at(-1) + ' ' + word).trim();
      if (lines.at(-1) && this.g.measureText(longer).width > room) lines.push(word); else lines[lines.length - 1] = longer;
    }
    return lines;
  }

  axes() {
    const { g, left, right, top, bottom } = this, [low, high] = this.range[0];
    this.font();
    g.lineWidth = 1;
    g.strokeStyle = this.rule;
    g.fillStyle = this.ink;
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    let free = Infinity;
    for (const [place, words] of this.upTicks) {
      const at = Math.round(this.rowOf(place)) + 0.5;
      if (at < top - 1 || at > bottom + 1) continue;
      this.stroke([[left, at], [right, at]]);
      if (at > free - 13) continue;
      free = at;
      g.fillText(words, left - 6, at, left - 8);
    }
    g.textBaseline = 'top';
    g.textAlign = 'center';
    free = -Infinity;
    for (const [place, lines] of this.tickLines) {
      const at = left + (place - low) / (high - low) * (right - left);
      if (!(at >= left - 1 && at <= right + 1)) continue;
      this.stroke([[Math.round(at) + 0.5, this.x.names ? bottom : top], [Math.round(at) + 0.5, bottom + 4]]);
      const half = Math.max(...lines.map(line => g.measureText(line).width)) / 2, middle = Math.min(Math.max(at, half), this.width - half);
      if (middle - half < free) continue;
      free = middle + half + 6;
      lines.forEach((line, i) => g.fillText(line, middle, bottom + 7 + 14 * i));
    }
    g.strokeStyle = this.soft;
    this.stroke([[left, top], [left, bottom], [right, bottom]]);
    const title = this.x.title(this.range[0].map(place => this.x.value(place)));
    g.textBaseline = 'alphabetic';
    if (title) g.fillText(title, (left + right) / 2, this.height - 5, this.width);
    g.textAlign = 'left';
    g.fillText(this.y.title(this.range[1].map(place => this.y.value(place))), 4, 13, this.width - 8);
  }

  stroke(points, dash = []) {
    const { g } = this;
    g.setLineDash(dash);
    g.beginPath();
    points.forEach(([x, y], i) => i ? g.lineTo(x, y) : g.moveTo(x, y));
    g.stroke();
    g.setLineDash([]);
  }

  // A line through the points; of those in one column of pixels only the first, the extremes and the last can be seen.
  path(xs, ys, steps) {
    const { g } = this;
    let open = false, column = NaN, low = 0, high = 0, last = 0;
    const flush = () => { if (open && high > low) { g.lineTo(column, low); g.lineTo(column, high); g.lineTo(column, last); } };
    for (let i = 0; i < xs.length; i++) {
      const x = fine(xs[i]) ? this.column(xs[i]) : NaN, y = fine(ys[i]) ? this.row(ys[i]) : NaN;
      if (!Number.isFinite(x) || !Number.isFinite(y)) { flush(); open = false; continue; }
      if (open && Math.abs(x - column) < 0.5) {
        low = Math.min(low, y); high = Math.max(high, y); last = y;
        continue;
      }
      flush();
      if (open && steps) g.lineTo(x, last);
      if (open) g.lineTo(x, y); else g.moveTo(x, y);
      open = true;
      [column, low, high, last] = [x, y, y, y];
    }
    flush();
  }

  line({ columns: [xs, ys], stroke }, colour, { colour: number }) {
    const { g } = this, single = stroke === 'dotted' && xs.length > MANY;
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = 1.6;
    if (!single) {
      g.setLineDash(dashes(stroke, number, this.several));
      g.beginPath();
      this.path(xs, ys, stroke === 'steps');
      g.stroke();
      g.setLineDash([]);
    }
    if (stroke === 'dotted') this.points({ columns: [xs, ys] }, colour, { colour: number });
  }

  points({ columns: [xs, ys] }, colour, { colour: number }) {
    const { g } = this, size = xs.length > 3 * MANY ? 1.2 : xs.length > MANY ? 2 : 3.5, seen = new Set();
    g.fillStyle = colour;
    for (let i = 0; i < xs.length; i++) {
      if (!fine(xs[i]) || !fine(ys[i])) continue;
      const x = this.column(xs[i]), y = this.row(ys[i]);
      if (!(x >= this.left - 5 && x <= this.right + 5)) continue;
      if (size > 2) { this.dot(x, y, size, number); continue; }
      const key = Math.round(x) * 8192 + Math.round(y);
      if (seen.has(key)) continue;
      seen.add(key);
      g.fillRect(x - size, y - size, 2 * size, 2 * size);
    }
  }

  // Colours are not all that tells points apart.
  dot(x, y, size, number) {
    const { g } = this, corners = [0, 0, 4, 3, 4, 3, 4][number], turn = [0, 0, 0, 0, 0.125, 0.5, 0.125][number] * 2 * Math.PI;
    g.beginPath();
    if (corners) for (let i = 0; i < corners; i++) {
      const angle = turn + (i + 0.5) / corners * 2 * Math.PI + Math.PI / 2;
      g.lineTo(x + 1.3 * size * Math.cos(angle), y + 1.3 * size * Math.sin(angle));
    } else g.arc(x, y, size, 0, 2 * Math.PI);
    if (number === 1) { g.closePath(); g.lineWidth = 1.5; g.strokeStyle = g.fillStyle; g.stroke(); } else g.fill();
  }

  band({ columns: [xs, lows, highs] }, colour) {
    const { g } = this;
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = 1;
    // Column by column of pixels: in each the first, the smallest or largest, and the last.
    let column = NaN, tops = [], feet = [];
    const upper = [], lower = [];
    const flush = () => {
      for (const value of new Set([tops[0], Math.min(...tops), tops.at(-1)])) if (tops.length) upper.push([column, value]);
      for (const value of new Set([feet[0], Math.max(...feet), feet.at(-1)])) if (feet.length) lower.push([column, value]);
      [tops, feet] = [[], []];
    };
    for (let i = 0; i < xs.length; i++) {
      const x = this.column(xs[i]), high = this.row(highs[i]), low = this.row(lows[i]);
      if (!fine(lows[i]) || !Number.isFinite(high + low)) continue;
      if (!(Math.abs(x - column) < 0.5)) { flush(); column = x; }
      tops.push(high);
      feet.push(low);
    }
    flush();
    g.globalAlpha = 0.3;
    g.beginPath();
    [...upper, ...lower.reverse()].forEach(([x, y]) => g.lineTo(x, y));
    g.fill();
    g.globalAlpha = 1;
    this.stroke(upper);
    this.stroke(lower);
  }

  bars({ columns: [from, to, height] }, colour, { colour: number }) {
    const { g } = this, foot = this.y.log ? this.bottom : this.row(0);
    g.fillStyle = g.strokeStyle = colour;
    g.lineWidth = 1.2;
    if (this.layers.filter(({ shape }) => shape.kind === 'bars').length > 1) {
      // Several over each other are told apart by their outlines.
      g.lineWidth = 1.6;
      let line = [], end = NaN;
      const close = () => { if (line.length) this.stroke([...line, [end, foot]], PATTERNS[number]); };
      for (let i = 0; i < from.length; i++) {
        const left = this.column(from[i]), right = Math.max(this.column(to[i]), left + 1), top = this.row(height[i]);
        if (!Number.isFinite(left + right + top)) continue;
        if (!(left - end <= 1.5)) {
          close();
          line = [[left, foot]];
        }
        line.push([left, top], [right, top]);
        end = right;
      }
      close();
      return;
    }
    for (let i = 0; i < from.length; i++) {
      const left = this.column(from[i]), right = Math.max(this.column(to[i]), left + 1), top = this.row(height[i]);
      if (!Number.isFinite(left + right + top)) continue;
      g.globalAlpha = 0.45;
      g.fillRect(left, top, right - left, foot - top);
      g.globalAlpha = 1;
      this.stroke([[left, top], [right, top]]);
    }
  }

  counts(...rest) { this.bars(...rest); }

  intervals({ columns: [xs, lows, values, highs] }, colour, { colour: number }) {
    this.g.strokeStyle = this.g.fillStyle = colour;
    for (let i = 0; i < xs.length; i++) {
      const x = this.column(xs[i]), [low, value, high] = [lows[i], values[i], highs[i]].map(v => this.row(v));
      this.g.lineWidth = 2;
      this.stroke([[x, low], [x, high]]);
      for (const end of [low, high]) this.stroke([[x - 4, end], [x + 4, end]]);
      this.dot(x, value, 4.5, number);
    }
  }

  cells({ columns: [xs, ys, shades], size: [w, h], labelled, words }) {
    const { g } = this, gap = labelled ? 1 : 0;
    this.font();
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    for (let i = 0; i < xs.length; i++) {
      const x = this.x.place(xs[i]), y = this.y.place(ys[i]);
      const left = this.columnOf(x - w / 2), right = this.columnOf(x + w / 2), top = this.rowOf(y + h / 2), bottom = this.rowOf(y - h / 2);
      g.fillStyle = shaded(shades[i]);
      g.fillRect(left + gap, top + gap, Math.max(right - left - 2 * gap, 1), Math.max(bottom - top - 2 * gap, 1));
      if (!labelled || g.measureText(words[i]).width > right - left - 4) continue;
      g.fillStyle = shades[i] > 0.4 ? '#fff' : '#000';
      g.fillText(words[i], (left + right) / 2, (top + bottom) / 2);
    }
  }

  boxes({ columns: [from, to] }, colour) {
    this.g.strokeStyle = colour;
    this.g.lineWidth = 1;
    from.forEach((value, i) => {
      const left = this.column(value), right = this.column(to[i]);
      this.stroke([[left, this.bottom], [left, this.top], [right, this.top], [right, this.bottom]], DASHES.box);
    });
  }

  frames({ columns: [lefts, lows, rights, highs] }, colour) {
    this.g.strokeStyle = colour;
    this.g.lineWidth = 1;
    lefts.forEach((left, i) => this.g.strokeRect(this.column(left), this.row(highs[i]), this.column(rights[i]) - this.column(left), this.row(lows[i]) - this.row(highs[i])));
  }

  spans({ columns: [from, to, lanes] }, colour) {
    const { g } = this;
    g.fillStyle = colour;
    for (let i = 0; i < from.length; i++) {
      const left = this.column(from[i]), top = this.row(lanes[i] + HALF_SPAN);
      // However short it was, it is seen.
      g.fillRect(left, top, Math.max(this.column(to[i]) - left, 1), this.row(lanes[i] - HALF_SPAN) - top);
    }
    this.spanNames(...arguments);
  }

  // Names stand in the bars that have room for them.
  spanNames({ columns: [from, to, lanes], words }) {
    const { g } = this;
    this.font(11);
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    g.fillStyle = this.paper;
    for (let i = 0; i < from.length; i++) {
      const left = Math.max(this.column(from[i]), this.left), right = Math.min(this.column(to[i]), this.right), name = words[i].replace(/, [^,]*$/, '');
      if (right - left > g.measureText(name).width + 8) g.fillText(name, left + 4, this.row(lanes[i]));
    }
    this.font();
  }

  marks({ columns: [xs] }, colour, layer) {
    this.g.strokeStyle = colour;
    this.g.lineWidth = 1.2;
    for (const value of xs) this.stroke([[this.column(value), this.top], [this.column(value), this.bottom]], ruled(layer.colour, DASHES.mark));
  }

  level({ columns: [[value]] }, colour, layer) {
    this.g.strokeStyle = colour;
    this.g.lineWidth = 1.4;
    this.stroke([[this.left, this.row(value)], [this.right, this.row(value)]], ruled(layer.colour, DASHES.level));
  }

  // The words of marks and boxes, in as many rows as they need.
  above() {
    const placed = [], taken = [];
    this.font(11);
    for (const { shape, colour } of this.layers) {
      if (shape.kind !== 'marks' && shape.kind !== 'boxes') continue;
      shape.words.forEach((words, i) => {
        const middle = (this.x.place(shape.columns[0][i]) + this.x.place(shape.columns.at(-1)[i])) / 2, [low, high] = this.range[0];
        if (!(middle >= low && middle <= high)) return;
        const half = this.g.measureText(words).width / 2, at = this.left + (middle - low) / (high - low) * (this.right - this.left);
        const centre = Math.max(this.left + half, Math.min(at, this.right - half));
        let row = taken.findIndex(ends => ends.every(([from, to]) => centre + half < from - 6 || centre - half > to + 6));
        if (row < 0) row = taken.push([]) - 1;
        taken[row].push([centre - half, centre + half]);
        placed.push({ words, centre, row, colour, half });
      });
    }
    this.font();
    return { placed, rows: taken.length };
  }

  heads() {
    this.font(11);
    this.g.textAlign = 'center';
    this.g.textBaseline = 'alphabetic';
    for (const { words, centre, row, colour } of this.wordsAbove.placed) {
      this.g.fillStyle = this.colours[colour];
      this.g.fillText(words, centre, this.top - 5 - ROW * (this.wordsAbove.rows - 1 - row), this.right - this.left);
    }
  }

  // What shades mean, beside the plot.
  keys() {
    if (!this.key) return;
    const { g } = this, [title, steps] = this.key, left = this.right + 10, height = this.bottom - this.top - 20;
    for (let y = 0; y < height; y++) {
      g.fillStyle = shaded(1 - y / height);
      g.fillRect(left, this.top + y, 12, 1.5);
    }
    this.font();
    g.fillStyle = this.ink;
    g.textAlign = 'left';
    g.textBaseline = 'middle';
    for (const [shade, words] of steps) g.fillText(words, left + 16, this.top + (1 - shade) * height);
    g.fillText(title, left, this.bottom - 6);
  }
}
