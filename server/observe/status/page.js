// SPDX-License-Identifier: MIT
// page.js - polls /status.json and draws what it says.
'use strict';

const POLL_MS = 1000;
const PATIENCE_MS = 5000;

const page = {
  series: makeSeries(), tables: makeTables(), order: { column: 0, falls: false }, plots: [], tablePlots: [], tableKind: '', kind: '', document: null, answeredMs: null, failure: null,
  failures: 0, cursor: null, minutes: 10, paused: false, token: null, timer: null,
};
const at = (id) => document.getElementById(id);

// Sets a text only where it changed: screen readers tell of each change.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

async function ask(since) {
  const headers = page.token === null ? {} : { Authorization: 'Bearer ' + page.token };
  const answer = await fetch('/status.json?since=' + since, {
    headers, cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (answer.status !== 200) throw new Error('status ' + answer.status);
  return answer.json();
}

async function poll() {
  clearTimeout(page.timer);
  try {
    let found = await ask(page.series.newest);
    if (!addStatus(page.series, found, Date.now())) {
      found = await ask(0);
      addStatus(page.series, found, Date.now());
    }
    addTables(page.tables, found, Date.now());
    Object.assign(page, { document: found, answeredMs: Date.now(), failure: null, failures: 0 });
  } catch (error) {
    page.failure = error.message.startsWith('status ') ? error.message : 'no answer';
    page.failures++;
  }
  draw();
  page.timer = setTimeout(tick, Math.min(POLL_MS * Math.max(1, page.failures), PATIENCE_MS));
}

// A hidden page sends no requests; the daemon keeps the samples meanwhile.
function tick() {
  if (page.paused || document.hidden) {
    page.timer = setTimeout(tick, POLL_MS);
  } else {
    poll();
  }
}

// --- drawing --------------------------------------------------------------------------------------

function drawState() {
  const found = page.document;
  const problems = found === null ? [] : found.problems.filter((p) => p.severity !== 'note').length;
  const state = page.failure !== null ? 'no answer'
    : found.state === 'loading' ? `loading, ${found.persistence.loading_percent} %` : found.state;
  say(at('state'), state);
  at('state').className = 'state ' + (page.failure !== null ? 'gone' : found.state === 'ready' ? 'ready' : 'loading');
  say(document.querySelector('title'), `Sherwood: ${problems === 0 || page.failure !== null ? state
    : problems === 1 ? '1 problem' : problems + ' problems'}`);
  at('gone').hidden = page.failure === null;
  at('token').hidden = page.failure !== 'status 401';
  document.body.classList.toggle('stale', page.failure !== null);
  if (page.failure !== null) drawGone();
  if (found === null) return;
  const { server } = found;
  say(at('what'), `${location.host} · ${server.engine} on ${server.backend} · version ${server.version} · `
    + `up ${formatDuration(server.uptime_seconds)}`);
}

// A screen reader reads the alert once, not each second: the duration is elsewhere.
function drawGone() {
  const since = page.answeredMs === null ? null : formatClock(page.answeredMs);
  const reason = page.failure === 'status 401' ? 'The daemon wants a token, or another one.'
    : page.failure === 'no answer' ? 'The daemon is gone, or its HTTP port is out of reach.'
    : `The HTTP port answered with ${page.failure}.`;
  say(at('gone'), since === null ? `There was no answer yet. ${reason}`
    : `No answer since ${since}. ${reason} What is below is the last that it said.`);
  if (since !== null) {
    say(at('state'), 'no answer for ' + formatDuration(Math.round((Date.now() - page.answeredMs) / 5000) * 5));
  }
}

function drawProblems(problems) {
  const key = JSON.stringify([problems, page.failure !== null]);
  if (at('problems').dataset.key === key) return;
  at('problems').dataset.key = key;
  const words = { critical: 'Critical.', warning: 'Warning.', note: 'Note.' };
  const items = problems.map((problem) => element('li', { class: 'problem ' + problem.severity },
    element('b', {}, words[problem.severity] || problem.severity), ' ' + problem.text));
  // the state of a daemon that is gone is unknown
  if (page.failure === null && !problems.some((problem) => problem.severity !== 'note')) {
    items.unshift(element('li', { class: 'problem fine' }, 'Nothing is wrong.'));
  }
  at('problems').replaceChildren(...items);
}

function drawTiles(tiles) {
  const list = at('tiles');
  while (list.children.length < tiles.length) {
    list.append(element('div', {}, element('dt'), element('dd'), element('dd', { class: 'more' })));
  }
  tiles.forEach((tile, i) => tile.forEach((text, k) => say(list.children[i].children[k], text)));
}

function drawFacts(tables) {
  const parent = at('facts');
  tables.forEach((facts, i) => {
    const shape = JSON.stringify([facts.title, facts.rows.map((row) => row[0]), facts.rows.length === 0 && facts.words]);
    let section = parent.children[i];
    if (!section || section.dataset.shape !== shape) {
      const made = factsSection(facts);
      made.dataset.shape = shape;
      if (section) section.replaceWith(made);
      else parent.append(made);
      section = made;
    }
    const rows = section.querySelectorAll('tbody tr');
    facts.rows.forEach((row, r) => row.slice(1).forEach((text, c) => say(rows[r].children[c + 1], text)));
  });
}

function factsSection(facts) {
  const section = element('section', {}, element('h3', {}, facts.title));
  if (facts.rows.length === 0) {
    section.append(element('p', {}, facts.words));
    return section;
  }
  const body = element('tbody', {}, ...facts.rows.map((row) => element('tr', {},
    element('th', { scope: 'row' }, row[0]), ...row.slice(1).map(() => element('td')))));
  const table = element('table', {}, body);
  if (facts.head) {
    table.prepend(element('thead', {}, element('tr', {}, ...facts.head.map((text, i) =>
      (i === 0 ? element('td') : element('th', { scope: 'col' }, text))))));
  }
  section.append(table);
  return section;
}

// --- tables ---------------------------------------------------------------------------------------

function orderTables(column) {
  // figures begin with the largest, names with the first
  page.order = { column, falls: page.order.column === column ? !page.order.falls : column > 1 };
  drawTables();
}

function drawTableHeads() {
  if (at('table-heads').children.length === 0) {
    at('table-heads').append(element('tr', {}, ...TABLE_COLUMNS.map(([head], i) => {
      const button = element('button', { type: 'button' }, head);
      button.addEventListener('click', () => orderTables(i));
      return element('th', { scope: 'col' }, button);
    })));
  }
  [...at('table-heads').rows[0].cells].forEach((cell, i) => {
    if (i === page.order.column) cell.setAttribute('aria-sort', page.order.falls ? 'descending' : 'ascending');
    else cell.removeAttribute('aria-sort');
  });
}

function tableRow() {
  const button = element('button', { type: 'button' });
  const row = element('tr', {}, element('th', { scope: 'row' }, button), ...TABLE_COLUMNS.slice(1).map(() => element('td')));
  button.addEventListener('click', () => {
    const one = page.tables.last.get(Number(row.dataset.number));
    location.hash = one === undefined || location.hash === hashOfTable(one) ? '#tables' : hashOfTable(one);
  });
  return row;
}

// The rows stay where they are, and their texts move: a reader's place and the focus are kept.
function drawTables() {
  at('tables').hidden = page.tables.last.size < 2;
  if (at('tables').hidden) return;
  drawTableHeads();
  const body = at('table-rows');
  const chosen = tableOfHash(page.tables, location.hash);
  const rows = tableRows(page.tables, page.order.column, page.order.falls);
  while (body.children.length > rows.length) body.lastChild.remove();
  while (body.children.length < rows.length) body.append(tableRow());
  rows.forEach((row, r) => {
    const made = body.children[r];
    made.dataset.number = row.number;
    if (row.number === chosen) made.setAttribute('aria-current', 'true');
    else made.removeAttribute('aria-current');
    row.cells.forEach((text, c) => say(c === 0 ? made.cells[0].firstChild : made.cells[c], text));
  });
  drawTable(chosen);
}

// Draws the plots of the table that the address names.
function drawTable(number) {
  const one = page.tables.last.get(number);
  const hasLog = page.document.persistence.log !== null;
  const kind = one === undefined ? '' : [one.number, one.name, one.engine, hasLog].join();
  at('table-title').hidden = one === undefined;
  if (kind !== page.tableKind) {
    page.tableKind = kind;
    page.tablePlots = one === undefined ? [] : tablePlots(one, hasLog).map((definition) => makePlot(definition, moveCursor));
    at('table-plots').replaceChildren(...page.tablePlots.map((plot) => plot.figure));
  }
  if (one === undefined) return;
  say(at('table-title'), `${one.name} (${one.number}), since this page was opened`);
  drawEach(page.tablePlots, page.tables.series.get(number));
}

// --------------------------------------------------------------------------------------------------

function drawEach(plots, series) {
  const to = page.paused || page.failure !== null ? page.answeredMs : Date.now();
  for (const plot of plots) drawPlot(plot, series, to - 60000 * page.minutes, to, page.cursor);
}

function drawPlots() {
  const found = page.document;
  // the plots are those of this kind of daemon; another one may answer after a restart
  const kind = [found.server.engine, found.server.backend, found.persistence.log !== null, found.table.max_load].join();
  if (page.kind !== kind) {
    page.kind = kind;
    page.plots = plotsOf(found).map((definition) => makePlot(definition, moveCursor));
    at('plots').replaceChildren(...page.plots.map((plot) => plot.figure));
  }
  drawEach(page.plots, page.series);
  drawTables();
}

function draw() {
  drawState();
  if (page.document === null) return;
  drawProblems(page.document.problems);
  drawTiles(tilesOf(page.document, page.series));
  drawFacts(factsOf(page.document, page.document.now_ms));
  drawPlots();
}

// --- what the reader does ---------------------------------------------------------------------------

function moveCursor(ms) {
  page.cursor = ms;
  drawPlots();
}

for (const choice of document.querySelectorAll('input[name=minutes]')) {
  choice.addEventListener('change', () => {
    page.minutes = Number(choice.value);
    say(at('span'), page.minutes === 1 ? 'minute' : page.minutes + ' minutes');
    if (page.document !== null) drawPlots();
  });
}
at('pause').addEventListener('click', () => {
  page.paused = !page.paused;
  at('pause').setAttribute('aria-pressed', String(page.paused));
  say(at('pause'), page.paused ? 'Continue' : 'Pause');
  if (!page.paused) poll();
});
// It is kept as long as the page is, and nowhere else.
at('token').addEventListener('submit', (event) => {
  event.preventDefault();
  page.token = at('token-text').value;
  at('token-text').value = '';
  poll();
});
window.addEventListener('hashchange', () => {
  if (page.document !== null) drawTables();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !page.paused) poll();
});
new ResizeObserver(() => {
  if (page.document !== null) drawPlots();
}).observe(at('plots'));
poll();
