// SPDX-License-Identifier: MIT
// figures.js - which plots, tiles and tables the page has, and what they say of a document.
'use strict';

const ratePlot = (title, lines, format) => ({
  title, unit: ' a second', format: format || formatCount, bytes: format === formatBytes,
  lines: lines.map(([label, name]) => ({ label, value: (c, i) => c[name] && c[name][i] })),
});
const gaugePlot = (title, lines, format) => Object.assign(ratePlot(title, lines, format), { unit: '' });

// The plots of a daemon; some need a feature of it, such as a GPU.
function plotsOf(document) {
  const plots = [
    ratePlot('Operations a second', [['gets', 'gets'], ['writes', 'writes'], ['deletes', 'deletes']]),
    ratePlot('Gets a second', [['found', 'hits'], ['not found', 'misses']]),
    gaugePlot('Latency of batches', [['p50', 'batch_us_p50'], ['p99', 'batch_us_p99']], formatMicros),
    ratePlot('Requests a second', [['commands', 'commands'], ['frames', 'frames'], ['batches', 'batches']]),
    ratePlot('Errors a second', [['error replies', 'errors'], ['no room', 'refused'], ['rejected', 'rejected']]),
    {
      title: 'Load of the table', unit: '', format: formatPercent, top: 1,
      lines: [
        { label: 'load', value: (c, i) => ratioOf(c.keys[i], c.capacity_slots[i]) },
        { label: 'most', value: (c, i) => (c.keys[i] === null ? null : document.table.max_load) },
      ],
    },
    {
      title: 'Buckets read for an operation', unit: '', format: formatRatio,
      lines: [
        { label: 'a get', value: (c, i) => ratioOf(c.get_probes[i], c.gets[i]) },
        { label: 'a write', value: (c, i) => ratioOf(c.write_probes[i], c.writes[i]) },
      ],
    },
    gaugePlot('Connections', [['open', 'clients'], ['paused', 'paused']]),
    ratePlot('Network, bytes a second', [['received', 'input_bytes'], ['sent', 'output_bytes']], formatBytes),
    gaugePlot('Host memory', [['resident', 'resident_bytes'], ['I/O', 'arena_used_bytes']],
      formatBytes),
  ];
  if (document.gpu !== null) {
    plots.push({
      title: 'The GPU', unit: '', format: formatPercent, top: 1,
      lines: [
        { label: 'busy', value: (c, i) => ratioOf(c.gpu_busy_percent[i], 100) },
        { label: 'memory in use', value: (c, i) => ratioOf(c.gpu_memory_used_bytes[i], document.gpu.memory_total_bytes) },
      ],
    });
  }
  if (document.persistence.log !== null) {
    plots.push(gaugePlot('Writes not on storage yet', [['writes', 'durable_lag']]));
  }
  if (document.server.engine === 'cache') {
    plots.push(ratePlot('Evictions a second', [['evicted keys', 'evicted']]));
  }
  if (document.server.backend === 'cuda' && document.server.engine === 'robin_hood') {
    plots.push(ratePlot('Batches of writes a second, by way', [['ranges', 'way_ranges'],
      ['stream', 'way_stream'], ['general', 'way_general'], ['serial', 'way_serial']]));
  }
  return plots;
}

// [label, value, more]
function tilesOf(document, series) {
  const { table, connections, memory, latency, persistence } = document;
  const rate = (name) => meanOf(series, name, 3000);
  const gets = meanOf(series, 'gets', 60000);
  const all = ['gets', 'writes', 'deletes'].map(rate);
  const device = memory.table_lies_in === 'device';
  return [
    ['Operations a second', formatCount(all.includes(null) ? null : all[0] + all[1] + all[2]),
      `${formatCount(rate('commands'))} commands, ${formatCount(rate('frames'))} frames`],
    ['Gets that found a key', formatPercent(ratioOf(meanOf(series, 'hits', 60000), gets)),
      gets > 0 ? 'of the last minute' : 'no gets in the last minute'],
    ['p99 of batches', formatMicros(latency.batch_us_p99),
      `p50 ${formatMicros(latency.batch_us_p50)}, p99.9 ${formatMicros(latency.batch_us_p999)}`],
    ['Load of the table', formatPercent(table.load),
      `${formatCount(table.keys)} keys in ${formatCount(table.capacity_slots)} slots`],
    ['Connections', formatExact(connections.clients),
      `of ${formatExact(connections.clients_max)}, ${formatExact(connections.paused)} paused`],
    [device ? 'GPU memory of the table' : 'Memory of the table', formatBytes(memory.table_bytes),
      `process: ${formatBytes(memory.resident_bytes)} of host memory`],
    durabilityTile(persistence, document.now_ms),
  ];
}

function durabilityTile(persistence, nowMs) {
  const { log } = persistence;
  const saved = persistence.saves === 0 ? 'no snapshot since the start'
    : `snapshot ${formatDuration(nowMs / 1000 - persistence.saved_at)} ago`;
  if (log !== null) {
    return ['Writes not on storage', formatCount(log.durable_lag), log.state === 'ok' ? saved : 'the log is ' + log.state];
  }
  return persistence.enabled ? ['Keys not in a snapshot', formatCount(persistence.changes), saved]
    : ['Persistence', 'none', 'the table goes with the process'];
}

// Tables: { title, rows: [[label, value ...]], head: [label ...] or none, words: what stands in place of rows }
function factsOf(document, nowMs) {
  const { table, connections, memory, persistence, server, totals } = document;
  const ago = (seconds) => formatDuration(nowMs / 1000 - seconds) + ' ago';
  return [
    {
      title: 'Operations since the start', head: ['', 'all', 'found', 'buckets each'],
      rows: [['gets', totals.get], ['writes', totals.write], ['deletes', totals.delete]].map(([name, c]) =>
        [name, formatCount(c.operations), formatPercent(ratioOf(c.hits, c.operations)),
          formatRatio(ratioOf(c.probes, c.operations))]),
    },
    {
      title: 'Table', rows: [
        ['keys', formatExact(table.keys)],
        ['slots', formatExact(table.capacity_slots)],
        ['slots at most', formatExact(table.max_capacity_slots)],
        ['grows or refuses at', formatExact(table.occupied_max)],
        ['stash', `${formatExact(table.stash_keys)} of ${formatExact(table.stash_slots)}`],
        ['probe cap, buckets', table.max_probe_buckets === 0 ? 'none' : formatExact(table.max_probe_buckets)],
        ['grown, resized, failed', [table.growths, table.resizes, table.resize_failures].map(formatExact).join(', ')],
        ['refused operations', formatExact(totals.refused)],
        ['evicted keys', formatExact(totals.evicted)],
      ],
    },
    {
      title: 'Batches of writes, by way', head: ['', 'batches', 'operations'],
      rows: document.ways.some((way) => way.batches > 0)
        ? document.ways.map((way) => [way.way, formatCount(way.batches), formatCount(way.operations)]) : [],
      words: server.backend === 'cuda' ? 'None yet.' : 'On the CPU there is one way only. Of all batches: '
        + `${formatCount(totals.batches)}, of ${formatCount(ratioOf(totals.batch_operations, totals.batches))} operations each.`,
    },
    {
      title: 'Snapshots', words: 'There is no data directory: the table goes with the process.',
      rows: !persistence.enabled ? [] : [
        ['last one', persistence.saves > 0 ? ago(persistence.saved_at) : 'none yet'],
        ['went well', persistence.last_save_ok ? 'yes' : 'no'],
        ['being written', persistence.saving ? 'for ' + formatDuration(nowMs / 1000 - persistence.saving_since) : 'no'],
        ['keys changed since', formatExact(persistence.changes)],
        ['bytes, keys', `${formatBytes(persistence.last_bytes)}, ${formatCount(persistence.last_keys)}`],
        ['took', formatMicros(persistence.saves === 0 ? null : persistence.last_seconds * 1e6)],
        ['writes waited for it', formatMicros(persistence.saves === 0 ? null : persistence.last_hold_seconds * 1e6)],
        ['written, failed', `${formatExact(persistence.saves)}, ${formatExact(persistence.failures)}`],
      ],
    },
    logFacts(persistence.log),
    {
      title: 'Memory', rows: [
        [memory.table_lies_in === 'device' ? 'table, on the GPU' : 'table', formatBytes(memory.table_bytes)],
        ['process, resident', formatBytes(memory.resident_bytes)],
        ['requests and replies', `${formatBytes(memory.arena_used_bytes)} of ${formatBytes(memory.arena_bytes)}`],
        ['incomplete requests', `${formatBytes(memory.input_bytes)} of ${formatBytes(memory.input_bytes_max)}`],
      ],
    },
    ...gpuFacts(document.gpu),
    {
      title: 'Connections since the start', rows: [
        ['accepted', formatExact(connections.accepted)],
        ['closed', formatExact(connections.closed)],
        ['refused', formatExact(connections.rejected)],
        ['commands, errors', `${formatCount(totals.commands)}, ${formatCount(totals.command_errors)}`],
        ['frames, errors', `${formatCount(totals.frames)}, ${formatCount(totals.frame_errors)}`],
      ],
    },
    {
      title: 'Daemon', rows: [
        ['version', server.version],
        ['engine', server.engine],
        ['backend', server.backend],
        ['because', server.backend_reason],
        ['keys', `${server.key_bytes * 8} bits, by RESP ${server.resp_keys}`],
        ['values', server.value_format === 'integer' ? server.value_bytes * 8 + ' bits'
          : `${server.value_format}, ${server.value_bytes} bytes`],
        ['I/O threads', String(server.loops)],
        ['CPU time', formatDuration(server.cpu_seconds)],
        ['process', String(server.process_id)],
        ['up', formatDuration(server.uptime_seconds)],
      ],
    },
  ];
}

function gpuFacts(gpu) {
  const percent = (value) => formatPercent(value === null ? null : value / 100);
  return gpu === null ? [] : [{
    title: 'GPU', rows: [
      ['at', gpu.bus_id],
      ['memory, by all processes', `${formatBytes(gpu.memory_used_bytes)} of ${formatBytes(gpu.memory_total_bytes)}`],
      ['busy', percent(gpu.busy_percent)],
      ['memory busy', percent(gpu.memory_busy_percent)],
    ],
  }];
}

function logFacts(log) {
  return {
    title: 'Write-ahead log', words: 'Writes are not logged (appendonly).',
    rows: log === null ? [] : [
      ['state', log.state],
      ['written up to', formatExact(log.written)],
      ['on storage up to', formatExact(log.durable)],
      ['not written yet', formatBytes(log.backlog_bytes)],
      ['files, bytes', `${formatExact(log.segments)}, ${formatBytes(log.bytes)}`],
      ['records', formatExact(log.records)],
      ['sync, p50 and p99', `${formatMicros(log.sync_us_p50)}, ${formatMicros(log.sync_us_p99)}`],
    ],
  };
}
