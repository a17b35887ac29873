// Where values lie on an axis, and how they are written there: as chart/range.rs has it, for every stretch.

// Up to this size values of both signs lie evenly around 0.
const ZONE = 1e3;
const UNITS = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];
const unitFor = size => UNITS.findLast(([scale]) => Math.abs(size) >= 2 * scale) ?? UNITS[0];
const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');

// A number as an axis shows it, with so many digits behind the point.
function number(value, decimals = 5) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 10 ** -Math.min(decimals, 4) / 2)) return value.toExponential(2).replace('.00e', 'e').replace('e+', 'e');
  const [whole, part] = String(Number(Math.abs(value).toFixed(Math.min(decimals, 12)))).split('.');
  return (value < 0 ? '−' : '') + grouped(whole) + (part ? '.' + part : '');
}

// A time to be read: exact, if it is whole nanoseconds.
function time(ns) {
  if (!Number.isFinite(ns)) return '–';
  const [scale, unit] = unitFor(2 * ns);
  const value = Number.isInteger(ns) ? ns / scale : Number((ns / scale).toPrecision(5));
  return `${String(value).replace('-', '−')} ${unit}`;
}

class Axis {
  constructor(axis, other) {
    this.axis = axis;
    this.scale = other ? axis.other : axis.scale;
    this.names = this.scale.names;
    this.log = this.scale === 'log' || 'named-log' in Object(this.scale);
    this.even = this.scale === 'linear';
  }

  place(value) {
    if (this.log) return value > 0 ? Math.log10(value) : NaN;
    return this.scale === 'signed-log' ? Math.sign(value) * Math.log10(1 + Math.abs(value) / ZONE) : value;
  }

  value(place) {
    if (this.log) return 10 ** place;
    return this.scale === 'signed-log' ? Math.sign(place) * ZONE * (10 ** Math.abs(place) - 1) : place;
  }

  // What stands for a value where it is pointed at.
  words(value) {
    if (this.names) return this.names[Math.round(value)] ?? '';
    if ('named-log' in Object(this.scale)) return `${number(100 * (1 - 1 / value), 8)} %`;
    return this.axis.time ? time(value) : number(value, 6);
  }

  // One unit for all of an even axis of time.
  unit([low, high]) {
    return this.axis.time && this.even ? unitFor(Math.max(Math.abs(low), Math.abs(high))) : [1, ''];
  }

  title(range) {
    const [, unit] = this.unit(range);
    return unit ? `${this.axis.title}, ${unit}` : this.axis.title;
  }

  label(value) {
    if (!this.axis.time || value === 0) return number(value);
    const [per, unit] = unitFor(2 * value);
    return `${number(value / per)} ${unit}`;
  }

  // About `count` ticks between two places: place and words.
  ticks([low, high], count) {
    const inside = ([place]) => place >= low && place <= high;
    if (this.names) return this.names.map((name, i) => [i, name]).filter(inside);
    if (!this.log && !this.even) return even(low, high, Math.max(1, Math.ceil((high - low) / count))).map(place => {
      const power = place && Math.sign(place) * ZONE * 10 ** Math.round(Math.abs(place)), at = this.place(power);
      return inside([at]) ? [at, this.label(power)] : [place, this.label(this.value(place))];
    });
    if (this.even) return this.evenTicks(low, high, count, value => value);
    if ('named-log' in Object(this.scale)) {
      const named = this.scale['named-log'].map(([value, name]) => [Math.log10(value), name]).filter(inside);
      if (named.length > 1) return named;
      return this.evenTicks(10 ** low, 10 ** high, count, Math.log10).map(([place]) => [place, this.words(10 ** place)]);
    }
    if (high - low >= 2) return even(low, high, Math.ceil((high - low) / Math.max(count, 2))).map(place => [place, this.label(10 ** place)]);
    const parts = high - low > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8], found = [];
    for (let power = Math.floor(low); power <= Math.ceil(high); power++) for (const part of parts) found.push(part * 10 ** power);
    const shown = found.map(value => [Math.log10(value), this.label(value)]).filter(inside);
    return shown.length > 1 ? shown : this.evenTicks(10 ** low, 10 ** high, count, Math.log10);
  }

  evenTicks(low, high, count, place) {
    const [per] = this.unit([low, high]), rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    if (!(rough > 0)) return [];
    const step = [1, 2, 5, 10].map(part => part * power).find(step => step >= 0.999 * rough);
    const decimals = Math.max(0, Math.ceil(-Math.log10(step / per) - 1e-9));
    return even(low, high, step).map(value => [place(value), this.even ? number(value / per, decimals) : this.label(value)]);
  }
}

function even(low, high, step) {
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && ticks.length < 100; k++) ticks.push(k * step);
  return ticks;
}

// From where to where an axis reaches that holds these places.
function reach(axis, [low, high], margin) {
  if (axis.names) return [-0.5, axis.names.length - 0.5];
  if (low < high) return [low - margin * (high - low), high + margin * (high - low)];
  if (!Number.isFinite(low)) return [0, 1];
  const room = axis.log ? 0.5 : Math.max(Math.abs(low) / 2, 0.5);
  return [low - room, low + room];
}

// The width of steps over the occupied bins of all that is counted: one in `most` of the axis, or so much wider that few
// stand alone.
function stepWidth(all, axis, [low, high], most) {
  const widths = [1, 1.5, 2, 3, 4].map(by => (high - low) * by / most), alone = ([from, to]) => to.filter((end, i) => end < from[i + 1]).length;
  const gaps = widths.map(width => Math.max(...all.map(columns => alone(bars(columns, axis, width)))));
  return widths[gaps.findIndex(count => count <= Math.max(2, Math.min(...gaps)))];
}

// Neighbouring bins added up until each is `width` wide in the places of the axis, each up to the next one where no more than
// one step lies between.
function bars([from, to, count], axis, width) {
  const joined = [[], [], []];
  let first = NaN;
  for (let i = 0; i < from.length; i++) {
    const end = axis.place(to[i]), last = joined[0].length - 1;
    if (end - first <= width) {
      joined[1][last] = to[i];
      joined[2][last] += count[i];
    } else {
      joined[0].push(from[i]); joined[1].push(to[i]); joined[2].push(count[i]);
      first = axis.place(from[i]);
    }
  }
  joined[1].forEach((end, i) => {
    const next = joined[0][i + 1];
    if (axis.place(next) - axis.place(end) <= 2 * width) joined[1][i] = next;
  });
  return joined;
}
