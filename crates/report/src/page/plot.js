// A chart that can be zoomed: its canvas, its legend, what is pointed at.

const byId = id => document.getElementById(id);
const onPaper = () => matchMedia('print').matches;
// A4 and Letter leave so many CSS pixels between their margins.
const PAPER_WIDTH = 690;
const make = (name, attributes = {}, ...children) => {
  const element = Object.assign(document.createElement(name), attributes);
  element.append(...children);
  return element;
};

class Plot {
  // `moved`: whoever moves with it across, or draws from finer detail.
  constructor(figure, chart) {
    Object.assign(this, { figure, chart, view: {}, hidden: new Set(), other: { x: false, y: false } });
    this.canvas = make('canvas');
    this.element = make('div', { className: 'plot', tabIndex: 0 }, this.canvas);
    this.element.style.setProperty('--height', chart.height + 'px');
    this.element.setAttribute('role', 'group');
    this.element.setAttribute('aria-label', `${figure.label}: ${chart.y.title}, ${chart.x.title}`.replace(/[:,] *$/, ''));
    this.element.setAttribute('aria-describedby', `caption-${figure.id}`);
    this.legend = make('div', { className: 'legend' });
    this.listen();
  }

  get layers() {
    const { layers } = this.chart;
    return this.detail ? layers.map((layer, i) => this.detail[i] ? { ...layer, shape: { ...layer.shape, ...this.detail[i] } } : layer) : layers;
  }

  draw() {
    const [width, height] = onPaper() ? [PAPER_WIDTH, this.chart.height * css('--sheet')] : [this.element.clientWidth, this.chart.height];
    if (!width) return;
    const layers = this.layers, seen = layers.map((layer, i) => ({ ...layer, i })).filter(({ i, shape }) => !this.hidden.has(i) && (shape.kind === 'level' || shape.columns[0].length));
    const [x, y] = [new Axis(this.chart.x, this.other.x), new Axis(this.chart.y, this.other.y)];
    this.drawing = new Drawing(this.canvas, width, height, this.chart, seen, [x, y], this.view, this.figure.left);
    this.whole ??= ranges(this.chart, x, y, seen)[0];
    this.names(layers);
  }

  // A button for each name: what it looks like, and whether it is seen.
  names(layers) {
    const named = layers.map((layer, i) => [layer, i]).filter(([{ name, shape }]) => name && (shape.kind === 'level' || shape.columns[0].length));
    const key = JSON.stringify([named.map(([{ name }, i]) => [name, i]), css('--c0')]);
    if (key === this.named) return;
    this.named = key;
    const several = crossing(layers);
    this.legend.replaceChildren(...(named.length < 2 ? [] : named).map(([layer, i]) => {
      const canvas = make('canvas', { width: 44, height: 24 }), button = make('button', { type: 'button' }, canvas, layer.name);
      canvas.style = 'width:22px;height:12px';
      button.setAttribute('aria-pressed', !this.hidden.has(i));
      button.addEventListener('click', () => {
        if (!this.hidden.delete(i)) this.hidden.add(i);
        button.setAttribute('aria-pressed', !this.hidden.has(i));
        this.draw();
      });
      swatch(canvas.getContext('2d'), layer, several);
      return button;
    }));
  }

  // Shows a stretch of the axis across, and of the one upwards if given, in places.
  show(x, y) {
    if (x) {
      const [low, high] = this.whole, least = this.figure.series ? 4 * this.figure.series.task.period_ns : 1e-6 * (high - low);
      const span = Math.min(Math.max(x[1] - x[0], least), high - low), middle = (x[0] + x[1]) / 2;
      const from = Math.max(low, Math.min(middle - span / 2, high - span));
      x = span > 0.999 * (high - low) ? undefined : [from, from + span];
    }
    this.figure.move(this, x, y);
  }

  zoom(factor, at = 0.5) {
    const [low, high] = this.drawing.range[0], middle = low + at * (high - low);
    this.show([middle - at * (high - low) * factor, middle + (1 - at) * (high - low) * factor], this.view.y);
  }

  pan(share) {
    const [low, high] = this.drawing.range[0], by = share * (high - low);
    this.show([low + by, high + by], this.view.y);
  }

  act(name) {
    const acts = { in: () => this.zoom(0.25), out: () => this.zoom(4), left: () => this.pan(-0.5), right: () => this.pan(0.5),
      all: () => this.show(), next: () => this.figure.next?.() };
    acts[name]();
  }

  listen() {
    const { element } = this, inside = event => {
      const box = element.getBoundingClientRect(), { left, right, top, bottom } = this.drawing;
      return { x: event.clientX - box.left, y: event.clientY - box.top, share: (event.clientX - box.left - left) / (right - left), upwards: (bottom - event.clientY + box.top) / (bottom - top) };
    };
    const fingers = new Map();
    let from = null;
    element.addEventListener('keydown', event => {
      const keys = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'all', Home: 'all', n: 'next' };
      const reads = event.key === 'Enter' || event.key === ' ';
      if (event.ctrlKey || event.altKey || event.metaKey || event.target !== element || !(reads || event.key in keys)) return;
      event.preventDefault();
      hint.hidden = true;
      // What a finger does by a tap, at the middle of what is seen.
      const { left, right, top, bottom } = this.drawing;
      if (reads) { this.click({ x: (left + right) / 2, y: (top + bottom) / 2 }); return; }
      this.act(keys[event.key]);
    });
    element.addEventListener('dblclick', () => this.act('all'));
    element.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(1.25 ** Math.sign(event.deltaY), Math.min(Math.max(inside(event).share, 0), 1));
    }, { passive: false });
    element.addEventListener('pointerdown', event => {
      if (event.button) return;
      element.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, inside(event).share);
      from = { ...inside(event), range: this.drawing.range, move: event.shiftKey || event.pointerType === 'touch' };
      from.fingers = [...fingers.values()];
    });
    element.addEventListener('pointermove', event => {
      const at = inside(event);
      if (!from) { this.point(at); return; }
      fingers.set(event.pointerId, at.share);
      const [low, high] = from.range[0], [a, b] = [...fingers.values()];
      if (fingers.size > 1) {
        // What was between two fingers stays between them.
        const [c, d] = from.fingers, factor = Math.abs(c - d) / Math.max(Math.abs(a - b), 0.01), middle = low + (c + d) / 2 * (high - low);
        this.show([middle - (a + b) / 2 * factor * (high - low), middle + (1 - (a + b) / 2) * factor * (high - low)], this.view.y);
      } else if (from.move) {
        if (this.view.x) this.show([low + (from.share - at.share) * (high - low), high + (from.share - at.share) * (high - low)], this.view.y);
      } else {
        this.mark(from, at);
      }
    });
    const done = event => {
      const begun = from;
      fingers.delete(event.pointerId);
      if (fingers.size) return;
      from = null;
      if (this.area) this.area.remove();
      if (!begun || event.type === 'pointercancel') return;
      const at = inside(event);
      if (Math.abs(at.x - begun.x) < 5 && Math.abs(at.y - begun.y) < 25) { this.click(at); return; }
      if (begun.move) return;
      const stretch = ([low, high], a, b) => [Math.min(a, b), Math.max(a, b)].map(share => low + Math.min(Math.max(share, 0), 1) * (high - low));
      const tall = Math.abs(at.y - begun.y) >= 25 && !this.figure.series, wide = Math.abs(at.x - begun.x) >= 5;
      this.show(wide ? stretch(begun.range[0], begun.share, at.share) : this.view.x, tall ? stretch(begun.range[1], begun.upwards, at.upwards) : this.view.y);
    };
    element.addEventListener('pointerup', done);
    element.addEventListener('pointercancel', done);
    // A finger that is lifted leaves, too: what it tapped stays told until the next tap.
    element.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') this.point(null); });
  }

  // Opens what stands behind the nearest point, if anything does; else says what is there, which fingers cannot point at.
  click(at) {
    let nearest, distance = 20;
    for (const { shape: { kind, columns: [xs, ys] } } of this.drawing.layers) if (kind === 'points') for (let i = 0; i < xs.length; i++) {
      const far = Math.hypot(this.drawing.column(xs[i]) - at.x, this.drawing.row(ys[i]) - at.y);
      if (far < distance) [nearest, distance] = [[xs[i], ys[i]], far];
    }
    if (!nearest || !this.figure.open?.(nearest)) this.point(at);
  }

  // The stretch that is being dragged over.
  mark(from, at) {
    const { left, right, top, bottom } = this.drawing, tall = Math.abs(at.y - from.y) >= 25 && !this.figure.series;
    const bounded = (value, low, high) => Math.min(Math.max(value, low), high);
    const [x, end] = [Math.min(from.x, at.x), Math.max(from.x, at.x)].map(value => bounded(value, left, right));
    const [y, foot] = tall ? [Math.min(from.y, at.y), Math.max(from.y, at.y)].map(value => bounded(value, top, bottom)) : [top, bottom];
    this.area ??= make('div', { className: 'area' });
    this.area.style.cssText = `left:${x}px;width:${end - x}px;top:${y}px;height:${foot - y}px`;
    this.element.append(this.area);
    hint.hidden = true;
  }

  // Says what is nearest to the pointer.
  point(at) {
    const { drawing } = this;
    const found = at && at.x >= drawing.left && at.x <= drawing.right && at.y >= drawing.top && at.y <= drawing.bottom
      ? drawing.layers.map(layer => nearest(drawing, layer, at)).filter(Boolean) : [];
    hint.hidden = !found.length;
    if (!found.length) return;
    const box = this.element.getBoundingClientRect(), lines = found.flatMap(({ words, name }) => name ? `${name}: ${words}` : words);
    const where = found.find(({ across }) => across)?.across;
    hint.replaceChildren(...[...(where ? [where] : []), ...lines].map(line => make('div', {}, line)));
    const right = at.x > drawing.width / 2;
    hint.style.cssText = `top:${scrollY + box.top + Math.max(at.y - 30, 0)}px;` + (right ? `right:${document.documentElement.clientWidth - box.left - at.x + 14}px` : `left:${box.left + at.x + 14}px`);
  }
}

const hint = make('div', { className: 'hint', hidden: true, role: 'status' });
document.body.append(hint);
document.addEventListener('pointerdown', () => { hint.hidden = true; });

// What a layer looks like, beside its name.
function swatch(g, { colour, shape }, several) {
  g.scale(2, 2);
  g.fillStyle = g.strokeStyle = css('--c' + colour);
  g.lineWidth = 2;
  if (['band', 'bars', 'counts'].includes(shape.kind)) {
    g.globalAlpha = 0.45;
    g.fillRect(0, 1, 22, 10);
    g.globalAlpha = 1;
    g.fillRect(0, 1, 22, 1.2);
    return;
  }
  if (shape.kind === 'line' || shape.kind === 'level') {
    g.setLineDash(shape.kind === 'level' ? ruled(colour, DASHES.level) : dashes(shape.stroke, colour, several));
    g.beginPath();
    g.moveTo(0, 6);
    g.lineTo(22, 6);
    g.stroke();
    g.setLineDash([]);
  }
  if (shape.kind === 'points' || shape.kind === 'intervals' || shape.stroke === 'dotted') Drawing.prototype.dot.call({ g }, 11, 6, 3.2, colour);
}

// What of a layer is nearest to a place of the drawing: words for the place across, and for the value.
function nearest(drawing, { name, shape }, at) {
  const { x, y } = drawing, { kind, columns } = shape, [first, second, third, fourth] = columns;
  const say = (across, words) => ({ name, across, words });
  if (kind === 'cells') {
    const [w, h] = shape.size.map(size => size / 2);
    const within = (place, at, half, drawn) => Math.abs(drawn(place) - at) <= Math.abs(drawn(place + half) - drawn(place));
    const i = first.findIndex((value, i) => within(x.place(value), at.x, w, place => drawing.columnOf(place)) && within(y.place(second[i]), at.y, h, place => drawing.rowOf(place)));
    return i < 0 ? null : say('', shape.words[i]);
  }
  if (kind === 'bars') {
    const i = first.findIndex((from, i) => drawing.column(from) <= at.x && drawing.column(second[i]) >= at.x);
    if (i < 0) return null;
    return x.names ? say(x.words((first[i] + second[i]) / 2), y.words(third[i])) : say(`${x.words(first[i])} to ${x.words(second[i])}`, y.words(third[i]));
  }
  if (kind === 'spans') {
    // Short ones are hard to hit.
    const i = first.findIndex((from, i) => drawing.column(from) <= at.x + 2 && drawing.column(second[i]) >= at.x - 2 && Math.abs(drawing.row(third[i]) - at.y) <= Math.abs(drawing.row(third[i] + HALF_SPAN) - drawing.row(third[i])));
    return i < 0 ? null : say(x.words(first[i]), shape.words[i]);
  }
  if (!['line', 'points', 'band', 'intervals'].includes(kind)) return null;
  let best = -1, distance = Infinity;
  for (let i = 0; i < first.length; i++) {
    if (!fine(second[i])) continue;
    const away = Math.abs(drawing.column(first[i]) - at.x);
    const far = away + (kind === 'points' ? Math.abs(drawing.row(second[i]) - at.y) : 0);
    if (far < distance) [best, distance] = [i, far];
  }
  if (best < 0 || distance > (kind === 'points' ? 20 : 40)) return null;
  const across = x.words(first[best]) + (shape.labels ? `, ${shape.labels[best]}` : '');
  if (kind === 'band') return say(across, `${y.words(second[best])} to ${y.words(third[best])}`);
  if (kind === 'intervals') return say(across, `${y.words(third[best])} (${y.words(second[best])} to ${y.words(fourth[best])})`);
  return say(across, y.words(second[best]));
}
