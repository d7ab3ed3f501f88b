// SPDX-License-Identifier: MIT
// status_parts.js - the status page's functions that need no browser, run by node:
//   node status_parts.js FOLDER   where FOLDER has format.js, series.js, figures.js and tables.js
'use strict';

const assert = require('assert');
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const page = vm.createContext({});
for (const name of ['format.js', 'series.js', 'figures.js', 'tables.js']) {
  const file = path.join(process.argv[2], name);
  vm.runInContext(fs.readFileSync(file, 'utf8'), page, { filename: file });
}
const call = (name, ...values) => vm.runInContext(name, page)(...values);
// Values of another context have other prototypes.
const same = (got, wanted, what) => assert.deepStrictEqual(JSON.parse(JSON.stringify(got)), wanted, what);
const shown = (name, ...values) => call(name, ...values).replace(/\u202f/g, ' ');

function table(name, rows) {
  for (const [value, wanted, ...more] of rows) assert.strictEqual(shown(name, value, ...more), wanted, `${name}(${value})`);
}

const cases = {
  'counts have three digits and a unit, up to 2^63': () => table('formatCount', [
    [0, '0'], [7, '7'], [7.25, '7.25'], [12.34, '12.3'], [999, '999'], [999.4, '999'], [999.6, '1.00 k'], [1000, '1.00 k'],
    [45678901, '45.7 M'], [999999, '1.00 M'], [1e12, '1.00 T'], [1.234e12, '1.23 T'], [2 ** 63, '9.22 E'], [1e21, '1000 E'],
    [null, '–'], [NaN, '–'], [Infinity, '–'],
  ]),
  'bytes, times and shares': () => {
    table('formatBytes', [[0, '0 B'], [1023, '1023 B'], [1024, '1.00 KiB'], [3 << 20, '3.00 MiB'], [80 * 2 ** 30, '80.0 GiB']]);
    table('formatMicros', [[0.5, '0.5 µs'], [9.4, '9.4 µs'], [123, '123 µs'], [1234, '1.23 ms'], [33554432, '33.55 s'], [null, '–']]);
    table('formatPercent', [[0, '0.0 %'], [1, '100.0 %'], [0.99999, '> 99.9 %'], [0.00001, '< 0.1 %'], [0.125, '12.5 %'], [null, '–']]);
    table('formatDuration', [[0, '0 s'], [59.9, '59 s'], [200, '3 min 20 s'], [3600, '1 h'], [7500, '2 h 5 min'],
      [90061, '1 d 1 h'], [1e10, '115740 d 17 h'], [-5, '0 s']]);
    table('formatExact', [[0, '0'], [999, '999'], [1000, '1 000'], [1234567890123, '1 234 567 890 123']]);
  },
  'axes end at round values, and their labels are short': () => {
    for (const [value, wanted] of [[0, 1], [1, 1], [1.1, 2], [3, 5], [501, 1000], [1e12, 1e12], [1.2e12, 2e12], [0.03, 0.05]]) {
      assert.ok(Math.abs(call('niceTop', value, false) / wanted - 1) < 1e-9, `niceTop(${value})`);
    }
    same([call('niceTop', 0, true), call('niceTop', 3000, true)], [1, 4096]);
    for (const [value, format, wanted] of [[0, 'formatMicros', '0'], [0.5, 'formatPercent', '50 %'], [2000, 'formatCount', '2 k'],
      [2500, 'formatCount', '2.5 k'], [100, 'formatCount', '100'], [1000, 'formatMicros', '1 ms'], [1 << 20, 'formatBytes', '1 MiB']]) {
      assert.strictEqual(shown('formatTick', value, vm.runInContext(format, page)), wanted);
    }
  },
  'samples are kept once, in the time of the browser, for ten minutes': () => {
    const series = call('makeSeries');
    assert.ok(call('addStatus', series, answer('a', 100, 2, 4), 1000100));
    same(series.at, [998100, 999100, 1000100]);
    same(series.columns.gets, [2, 3, 4]);
    assert.ok(call('addStatus', series, answer('a', 101, 3, 5), 1001100), 'two of these are known');
    same(series.columns.gets, [2, 3, 4, 5]);
    assert.ok(call('addStatus', series, answer('a', 102, 6, 5), 1002100), 'none is new');
    same(series.at.length, 4);
    assert.ok(call('addStatus', series, answer('a', 1000, 900, 903), 1900100));
    same(series.columns.gets, [900, 901, 902, 903], 'what is older has gone');
  },
  'a daemon that was restarted: its samples follow those before, and the restart is marked': () => {
    const series = call('makeSeries');
    call('addStatus', series, answer('a', 100, 2, 4), 1000000);
    assert.ok(!call('addStatus', series, answer('b', 7, 9, 8), 1020000), 'asks again, from the first on');
    assert.ok(call('addStatus', series, answer('b', 7, 2, 6), 1020000));
    same(series.columns.gets, [2, 3, 4, 2, 3, 4, 5, 6]);
    same(series.restarts, [1013000]);
    const points = call('pointsOf', series, (c, i) => c.gets[i], 0, 2000000);
    same(points.filter((point) => point[1] === null).length, 1, 'no line through the time between');
    assert.strictEqual(call('nearest', series, 1008000), -1);
    assert.strictEqual(call('nearest', series, 1019600), 7);
  },
  'a daemon with other columns, and one without any traffic': () => {
    const series = call('makeSeries');
    call('addStatus', series, answer('a', 100, 2, 3), 1000000);
    const other = answer('a', 101, 4, 4);
    other.history.fresh = [11];
    call('addStatus', series, other, 1001000);
    same(series.columns.fresh, [null, null, 11]);
    const quiet = call('makeSeries');
    assert.strictEqual(call('meanOf', quiet, 'gets', 3000), null);
    assert.strictEqual(call('ratioOf', 0, 0), null);
    same(call('pointsOf', quiet, () => 1, 0, 10), []);
  },
  'tables have the rates between two documents, unless a place got another table; their rows have an order': () => {
    const tables = call('makeTables');
    const totals = { writes: 0, deletes: 0, expired: 0, evicted: 0, refused: 0, log_bytes: 0, growths: 0, resize_failures: 0 };
    const row = (number, id, gets) => ({
      name: 't' + number, number, id, engine: 'robin_hood', keys: 1000 - number, expires: 0, capacity_slots: 8, bytes: 2048,
      full: 0.5, gets, hits: gets / 2, ...totals,
    });
    const add = (run, seconds, ...rows) => call('addTables', tables,
      { now_ms: 1000 * seconds, server: { run_id: run }, tables: rows }, 5000 + 1000 * seconds);
    const gets = () => [...tables.last.values()].map((one) => one.rates.gets);
    add('a', 1, row(0, 1, 10), row(7, 2, 10));
    same(gets(), [null, null], 'one document has no rate');
    add('a', 3, row(0, 1, 30), row(7, 2, 12));
    same(gets(), [10, 1]);
    same(call('tableRows', tables, 7, true).map((each) => each.number), [0, 7], 'by gets');
    same(call('tableRows', tables, 2, false).map((each) => each.number), [7, 0], 'by keys');
    same(call('tableRows', tables, 5, true).map((each) => each.number), [0, 7], 'equal ones by number');
    same(call('tableRows', tables, 0, false)[1].cells.slice(0, 9).map((text) => text.replace(/\u202f/g, ' ')),
      ['t7 (7)', 'robin_hood', '993', '0', '8', '50.0 %', '2.00 KiB', '1', '50.0 %']);
    same([call('tableOfHash', tables, '#table=t7'), call('tableOfHash', tables, '#table=x'), call('tableOfHash', tables, '')], [7, null, null]);
    add('a', 4, row(0, 2, 14), row(7, 1, 30));
    same(gets(), [null, null], 'behind a SWAP');
    add('a', 5, row(0, 2, 24));
    same([gets(), tables.series.size, tables.series.get(0).columns.gets], [[10], 1, [null, 10, null, 10]], 'a table was dropped');
    add('b', 6, row(0, 1, 3));
    same([gets(), tables.series.get(0).at.length], [[null], 1], 'another run of the daemon');
    for (const plot of [row(0, 1, 3), { ...row(0, 1, 3), engine: 'cache' }].flatMap((one) => [...call('tablePlots', one, true)])) {
      for (const line of plot.lines) assert.ok(line.value(tables.series.get(0).columns, 0) !== undefined, line.label);
    }
  },
  'every tile, table and plot has words, whatever the daemon is': () => {
    const document = JSON.parse(fs.readFileSync(0, 'utf8'));
    for (const change of [() => {}, (d) => Object.assign(d.server, { backend: 'cuda' }),
      (d) => Object.assign(d.server, { engine: 'cache', value_format: 'string' }),
      (d) => Object.assign(d.memory, { table_lies_in: 'device' }),
      (d) => d.ways.forEach((way) => Object.assign(way, { batches: 1e12, operations: 1e15 })),
      (d) => Object.assign(d.persistence, { enabled: true, saves: 3, saved_at: 5, saving: true }),
      (d) => Object.assign(d.persistence, { log: { state: 'full', sync_us_p50: null } })]) {
      change(document);
      const series = call('makeSeries');
      call('addStatus', series, document, 1e12);
      const tiles = call('tilesOf', document, series);
      const facts = call('factsOf', document, document.now_ms);
      const plots = call('plotsOf', document);
      for (const text of [...tiles.flat(), ...facts.flatMap((f) => f.rows.flat())]) {
        assert.ok(typeof text === 'string' && text.length + 1 > 1 || text === '', JSON.stringify(text));
        assert.ok(!/undefined|NaN|null|Infinity/.test(text), text);
      }
      for (const facts1 of facts) assert.ok(facts1.rows.length > 0 || facts1.words.length > 0, facts1.title);
      for (const line of plots.flatMap((plot) => plot.lines)) {
        const values = series.at.map((_, i) => line.value(series.columns, i));
        assert.ok(values.length > 0 && values.every((v) => v === null || Number.isFinite(v)), line.label);
      }
    }
  },
};

// A document with samples `first` to `newest`, whose gets are their numbers.
function answer(run, uptime, first, newest) {
  const gets = [];
  for (let n = first; n <= newest; n++) gets.push(n);
  const now = 5000 + 1000 * newest;
  return {
    now_ms: now, server: { run_id: run, uptime_seconds: uptime },
    history: { interval_ms: 1000, first, newest, at_ms: gets.map((n) => 5000 + 1000 * n), gets },
  };
}

for (const [name, run] of Object.entries(cases)) {
  run();
  console.log('ok ' + name);
}
