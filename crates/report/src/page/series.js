// Figures: charts to choose from that move together, and the finer detail of a series at every zoom.

class Figure {
  constructor({ id, options }) {
    Object.assign(this, { id, options, element: byId('figure-' + id), view: {} });
    this.place = this.element.querySelector('.plots');
    this.label = this.place.dataset.label;
    this.caption = this.element.querySelector('.caption');
    this.status = this.element.querySelector('.status');
    const controls = this.element.querySelectorAll('select');
    for (const select of controls) {
      select.addEventListener('change', () => {
        if ('choose' in select.dataset) this.choose(Number(select.value)); else this.rescale();
        this.draw();
      });
    }
    this.element.querySelectorAll('[data-act]').forEach(button => button.addEventListener('click', () => this.plots[0].act(button.dataset.act)));
    this.choose(0);
  }

  choose(number) {
    const { charts, detail, caption } = this.options[number];
    this.series = detail && new SeriesView(detail);
    this.plots = charts.map(chart => new Plot(this, chart));
    this.caption.textContent = caption;
    this.scales();
  }

  // Shows what stands behind a point of another figure of the section; whether there is such a thing.
  openAt([x, y]) {
    const number = this.options.findIndex(({ at }) => at && at[0] === x && at[1] === y), select = this.element.querySelector('[data-choose]');
    if (number < 0) return false;
    if (select) select.value = number;
    this.choose(number);
    this.seen = true;
    this.draw();
    this.element.scrollIntoView({ block: 'nearest' });
    return true;
  }

  // Offers what the axes can be drawn as.
  scales() {
    for (const select of this.element.querySelectorAll('[data-axis]')) {
      const axis = this.plots[0].chart[select.dataset.axis], name = scale => scale === 'linear' ? 'linear' : 'logarithmic';
      select.replaceChildren(...[axis.scale, axis.other].filter(Boolean).map((scale, i) => new Option(name(scale), i)));
    }
  }

  rescale() {
    for (const select of this.element.querySelectorAll('[data-axis]')) {
      for (const plot of this.plots) {
        plot.other[select.dataset.axis] = select.value === '1';
        Object.assign(plot, { view: {}, whole: undefined });
      }
    }
  }

  // One of the plots was moved: all have the same axis across.
  move(mover, x, y) {
    for (const plot of this.plots) plot.view = { x, y: plot === mover ? y : plot.view.y };
    this.draw();
  }

  // Until it is drawn, the place holds the charts as they are in the document.
  draw() {
    const [{ element }] = this.plots;
    if (element.parentNode !== this.place) this.place.replaceChildren(...this.plots.flatMap(plot => [plot.legend, plot.element]));
    if (this.series && columns) this.refine();
    this.left = 0;
    this.plots.forEach(plot => plot.draw());
    // What is at the same time stands below each other.
    this.left = Math.max(...this.plots.map(({ drawing }) => drawing?.left ?? 0));
    this.plots.forEach(plot => { if (plot.drawing?.left < this.left) plot.draw(); });
  }

  // The detail of the series for the stretch that is seen.
  refine() {
    const { series } = this, [from, to] = this.plots[0].view.x ?? [0, series.length], room = this.place.clientWidth;
    this.shown = { from, to, ...series.view(from, to, room < 600 ? 300 : 800) };
    this.plots.forEach((plot, i) => { plot.detail = series.layers(QUANTITIES[series.columns[i]], this.shown); });
    this.status.textContent = series.describe(this.shown);
  }

  next() {
    const { task } = this.series, at = this.series.next();
    if (at !== undefined) this.plots[0].show([at - 24 * task.period_ns, at + 24 * task.period_ns]);
  }
}

// The ends of a stretch in one unit, with as many digits as tell them apart.
function stretch(from, to) {
  const [per, unit] = unitFor(Math.max(Math.abs(from), Math.abs(to)));
  const decimals = Math.max(0, Math.ceil(2.5 - Math.log10((to - from) / per)));
  const words = ns => `${number(ns / per, decimals)} ${unit}`;
  return { from: words(from), to: words(to) };
}

// The series of one task.
class SeriesView {
  constructor({ run, task, columns }) {
    this.task = page.runs[run].tasks[task];
    this.columns = columns;
    this.length = Math.max(this.task.length_ns, this.task.period_ns);
    this.spike = -1;
  }

  // Unpacked when first asked for.
  get data() { return this.task.data ??= new TaskSeries(this.task, columns); }

  view(from, to, most) { return this.data.view(from, to, most); }

  // What stands for the first four layers of a chart of this quantity.
  layers(quantity, view) {
    const { data, task } = this, level = data.levels[view.level], { min, mean, max } = level[quantity];
    const single = task.complete && view.level === 0, band = [[], [], []], middle = [[], []], missed = [[], []];
    for (let i = view.first; i < view.last; i++) {
      const end = i + 1 < level.due.length ? level.due[i + 1] : Math.max(task.length_ns, level.due[i]);
      if (!single && min[i] === min[i]) for (const at of [level.due[i], end]) {
        band[0].push(at); band[1].push(min[i]); band[2].push(max[i]);
        middle[0].push(at); middle[1].push(mean[i]);
      }
      if (level.missed[i] > 0) { missed[0].push(level.due[i]); missed[1].push(max[i]); }
    }
    const exact = [[], []], labels = [];
    for (let i = view.start; i < view.end; i++) {
      // Nothing is known of what lies between.
      if (i > view.start && data.exact.index[i] - data.exact.index[i - 1] > 1 + data.exact.missed[i - 1]) { exact[0].push(NaN); exact[1].push(NaN); labels.push(''); }
      exact[0].push(data.exact.due[i]); exact[1].push(data.exact[quantity][i]);
      labels.push('#' + data.exact.index[i]);
    }
    return [{ columns: band }, { columns: middle }, { columns: exact, stroke: 'dotted', labels }, { columns: missed }];
  }

  // The next largest latency.
  next() {
    this.peaks ??= this.data.largest(20);
    if (!this.peaks.length) return undefined;
    this.spike = (this.spike + 1) % this.peaks.length;
    return this.data.exact.due[this.peaks[this.spike]];
  }

  describe({ from, to, level: number, first, last, start, end, hidden }) {
    const level = this.data.levels[number], { status } = page;
    let executed = 0, largest = -Infinity;
    for (let i = first; i < last; i++) {
      executed = Math.max(executed, level.executed[i]);
      if (level.latency.max[i] > largest) largest = level.latency.max[i];
    }
    const known = { ...stretch(from, to), executed: grouped(executed), exact: grouped(end - start), largest: time(largest) };
    const words = this.task.complete && number === 0 ? status.every : status.steps + (end > start ? status.shown : hidden ? status.hidden : status.none);
    return (words + status.largest).replace(/\{(\w+)\}/g, (_, name) => known[name]);
  }
}
