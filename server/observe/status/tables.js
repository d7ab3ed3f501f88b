// SPDX-License-Identifier: MIT
// tables.js - the section of the tables: their rates between two documents, the order of the rows, and
// the plots of one table. Pure functions; a table is known by the number of its place.
'use strict';

const TABLE_TOTALS = ['gets', 'hits', 'writes', 'deletes', 'expired', 'evicted', 'refused', 'log_bytes'];
const TABLE_GAUGES = ['keys', 'expires', 'capacity_slots', 'bytes', 'full'];

// The daemon has no history of single tables: what the page knows of them begins when it is opened.
function makeTables() {
  return { run: null, at: null, last: new Map(), series: new Map() };
}

// Adds the figures of a document that came at `receivedMs`. A place with another table than before
// has no rates in this step.
function addTables(tables, document, receivedMs) {
  if (tables.run !== document.server.run_id) Object.assign(tables, makeTables(), { run: document.server.run_id });
  const seconds = tables.at === null ? 0 : (document.now_ms - tables.at) / 1000;
  const last = new Map();
  for (const one of document.tables) {
    const before = tables.last.get(one.number);
    const follows = before !== undefined && before.id === one.id && seconds > 0;
    const rates = {};
    for (const name of TABLE_TOTALS) rates[name] = follows ? Math.max(0, one[name] - before[name]) / seconds : null;
    last.set(one.number, { ...one, rates });
    addSample(tables, one, rates, receivedMs);
  }
  for (const number of tables.series.keys()) {
    if (!last.has(number)) tables.series.delete(number);
  }
  Object.assign(tables, { at: document.now_ms, last });
}

function addSample(tables, one, rates, receivedMs) {
  if (!tables.series.has(one.number)) tables.series.set(one.number, makeSeries());
  const series = tables.series.get(one.number);
  series.at.push(receivedMs);
  for (const name of TABLE_TOTALS) (series.columns[name] = series.columns[name] || []).push(rates[name]);
  for (const name of TABLE_GAUGES) (series.columns[name] = series.columns[name] || []).push(one[name]);
  forgetBefore(series, receivedMs - SERIES_KEEP_MS);
}

// [head, value to order by, text]; the first one is the name.
const TABLE_COLUMNS = [
  ['table', (one) => one.number, (one) => `${one.name} (${one.number})`],
  ['engine', (one) => one.engine, (one) => one.engine],
  ['keys', (one) => one.keys, (one) => formatCount(one.keys)],
  ['expiring', (one) => one.expires, (one) => formatCount(one.expires)],
  ['slots', (one) => one.capacity_slots, (one) => formatCount(one.capacity_slots)],
  ['full', (one) => one.full, (one) => (one.engine === 'cache' ? '–' : formatPercent(one.full))],
  ['memory', (one) => one.bytes, (one) => formatBytes(one.bytes)],
  ['gets/s', (one) => one.rates.gets, (one) => formatCount(one.rates.gets)],
  ['found', (one) => ratioOf(one.rates.hits, one.rates.gets), (one) => formatPercent(ratioOf(one.rates.hits, one.rates.gets))],
  ['writes/s', (one) => one.rates.writes, (one) => formatCount(one.rates.writes)],
  ['deletes/s', (one) => one.rates.deletes, (one) => formatCount(one.rates.deletes)],
  ['expired/s', (one) => one.rates.expired, (one) => formatCount(one.rates.expired)],
  ['evicted/s', (one) => one.rates.evicted, (one) => formatCount(one.rates.evicted)],
  ['refused/s', (one) => one.rates.refused, (one) => formatCount(one.rates.refused)],
  ['log/s', (one) => one.rates.log_bytes, (one) => formatBytes(one.rates.log_bytes)],
  ['grown', (one) => one.growths, (one) => formatCount(one.growths)],
  ['failed', (one) => one.resize_failures, (one) => formatCount(one.resize_failures)],
];

// The rows in the order of a column: { number, cells }. Unknown values come last, equal ones by number.
function tableRows(tables, column, falls) {
  const value = TABLE_COLUMNS[column][1];
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === y || (x === null && y === null)) return a.number - b.number;
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y) === falls ? 1 : -1;
  };
  return [...tables.last.values()].sort(compare).map((one) => (
    { number: one.number, cells: TABLE_COLUMNS.map((each) => each[2](one)) }));
}

// The number of the table that the end of an address names, as '#table=name' does; null: none.
function tableOfHash(tables, hash) {
  const found = /^#table=(.+)$/.exec(hash);
  if (found === null) return null;
  for (const one of tables.last.values()) {
    if (hashOfTable(one) === hash) return one.number;
  }
  return null;
}

function hashOfTable(one) {
  return '#table=' + encodeURIComponent(one.name);
}

function tablePlots(one, hasLog) {
  return [
    ratePlot('Operations a second', [['gets', 'gets'], ['writes', 'writes'], ['deletes', 'deletes']]),
    {
      title: 'Gets that found a key', unit: '', format: formatPercent, top: 1,
      lines: [{ label: 'found', value: (c, i) => ratioOf(c.hits[i], c.gets[i]) }],
    },
    gaugePlot('Keys', [['keys', 'keys'], ['expiring', 'expires'], ['slots', 'capacity_slots']]),
    gaugePlot('Memory', [['bytes', 'bytes']], formatBytes),
    ratePlot('Keys that left, and refusals, a second', [['expired', 'expired'], ['evicted', 'evicted'], ['refused', 'refused']]),
    ...(one.engine === 'cache' ? [] : [{
      title: 'Full', unit: '', format: formatPercent, top: 1, lines: [{ label: 'full', value: (c, i) => c.full[i] }],
    }]),
    ...(hasLog ? [ratePlot('Log, bytes a second', [['written', 'log_bytes']], formatBytes)] : []),
  ];
}
