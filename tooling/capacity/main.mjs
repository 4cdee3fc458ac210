/**
 * `npm run capacity -- --tasks-per-second 20000 --payload-bytes 500`: prints the masters, processes and memory that a load needs, with the
 * assumptions. `--compare` prints what the model predicts for 1, 2 and 3 masters, and what `npm run bench -- queues.shards` measured. See
 * docs/SCALING.md.
 */
import { parseArgs } from 'node:util';
import { conditionsOf } from './figures.mjs';
import { compare, ITEMS, KINDS, plan, shardsOnMasters } from './model.mjs';

const DEFAULTS = {
  'payload-bytes': 100,
  'handler-ms': 10,
  concurrency: 100,
  'core-share': 0.5,
  'node-share': 0.7,
  'memory-gb': 8,
};
const numbers = [...Object.keys(KINDS), ...Object.keys(ITEMS), ...Object.keys(DEFAULTS)];

const { values } = parse();
const given = Object.fromEntries(numbers.map((name) => [name, numberOf(name)]));
const queue = values.queue ?? 'mail';
if (values.compare) {
  for (const { masters, shares, measuredShare, times, measuredTimes } of compare()) {
    const seen = (value, unit) =>
      value === undefined ? 'not measured yet' : `${round(value)}${unit} measured`;
    const share = `the busiest master ${shares} % of the CPU (${seen(measuredShare, ' %')})`;
    console.log(
      `${masters} masters: ${share}; a task ${times} × the CPU of one shard (${seen(measuredTimes, ' ×')})`,
    );
  }
  process.exit(0);
}
if (Object.keys({ ...KINDS, ...ITEMS }).every((name) => given[name] === undefined)) {
  stop(
    `name a load, such as --tasks-per-second 20000. Options: ${numbers.map((name) => `--${name}`).join(', ')}, --queue`,
  );
}
const settings = {
  ...DEFAULTS,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
};
const MOST_QUEUES = 64;
/** Masters beyond the fewest, before a load is split over more queues. */
const MOST_MORE = 1.5;
const { needed, queues } = planned();
if (values.json) console.log(JSON.stringify({ ...needed, queues: queues.length }, null, 2));
else print();

/** With one queue. A large Cluster needs several, since the 64 shards of one leave some masters empty. */
function planned() {
  const plans = [];
  for (let count = 1; count <= MOST_QUEUES; count *= 2) {
    const names = count === 1 ? [queue] : Array.from({ length: count }, (_, n) => `${queue}-${n + 1}`);
    const found = planWith(names);
    if (found) plans.push({ needed: found, queues: names });
  }
  if (plans.length === 0) return stop('no number of masters up to 1,000 carries that');
  const fewest = Math.min(...plans.map((one) => one.needed.masters));
  return plans.find((one) => one.needed.masters <= MOST_MORE * fewest);
}

function planWith(names) {
  return plan(given, given, {
    payloadBytes: settings['payload-bytes'],
    handlerMs: settings['handler-ms'],
    concurrency: settings.concurrency,
    coreShare: settings['core-share'],
    nodeShare: settings['node-share'],
    memoryGb: settings['memory-gb'],
    queues: names,
  });
}

function print() {
  const {
    masters,
    shards,
    cores,
    busiest,
    processes,
    nodeCores,
    slots,
    bytes,
    bytesOfMaster,
    commandsPerSecond,
  } = needed;
  const hasTasks = given['tasks-per-second'] !== undefined;
  const rows = [
    ['masters', `${masters}${masters > 1 ? ' (a Cluster)' : ''}`],
    ['CPU of Redis', `${round(cores)} cores; the busiest master ${Math.round(100 * busiest)} % of one`],
    ['commands', `${Math.round(commandsPerSecond).toLocaleString('en')} a second, those in scripts included`],
    ['memory', `${gigabytes(bytes)}; the fullest master ${gigabytes(bytesOfMaster)}`],
    [
      'processes',
      `${processes}: ${round(nodeCores)} cores of Node${hasTasks ? `, ${Math.ceil(slots)} handlers at a time` : ''}`,
    ],
  ];
  if (hasTasks) {
    const spread = shardsOnMasters(queues, shards, masters);
    const lie = masters > 1 ? `, ${Math.min(...spread)} to ${Math.max(...spread)} on a master` : '';
    rows.splice(1, 0, [
      'shards',
      queues.length === 1
        ? `${shards} of queue "${queue}"${lie}`
        : `${shards} of each of ${queues.length} queues${lie}`,
    ]);
  }
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, text] of rows) console.log(`${name.padEnd(width)}  ${text}`);
  console.log('\nAssumptions');
  for (const line of assumptions()) console.log(`- ${line}`);
}

function assumptions() {
  const { kinds, times, isMeasured, masters } = needed;
  const lines = kinds.map(({ what, redisMicros, nodeMicros, option }) => {
    const [scenario] = KINDS[option].redis;
    return `${what}: ${round(redisMicros)} µs of Redis, ${round(nodeMicros)} µs of Node (${scenario}: ${conditionsOf(scenario)})`;
  });
  if (masters > 1) {
    const source = isMeasured ? 'queues.shards' : 'the bar of queues.shards, which was not measured yet';
    lines.push(`Several masters cost ${round(times)} times as much CPU as one (${source}).`);
    lines.push('The slots are split evenly among the masters, in order.');
  }
  lines.push(
    `A master uses ${100 * settings['core-share']} % of a core at most, a process ${100 * settings['node-share']} %.`,
    `CPU figures are those of payloads of 100 bytes and of many callers at once. Memory counts payloads of ${settings['payload-bytes']} bytes.`,
    'Memory is that of Redis without replicas, fragmentation and copy-on-write. Add half for these.',
  );
  return lines;
}

function parse() {
  const options = Object.fromEntries([...numbers, 'queue'].map((name) => [name, { type: 'string' }]));
  try {
    return parseArgs({ options: { ...options, json: { type: 'boolean' }, compare: { type: 'boolean' } } });
  } catch (error) {
    return stop(error.message);
  }
}

function numberOf(name) {
  const text = values[name];
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!(number > 0) || !Number.isFinite(number)) stop(`--${name} must be a number above 0, got ${text}`);
  return number;
}

function round(value) {
  return value >= 10 ? String(Math.round(value)) : value.toFixed(2);
}

function gigabytes(bytes) {
  return bytes >= 1e9 ? `${round(bytes / 1e9)} GB` : `${Math.ceil(bytes / 1e6)} MB`;
}

function stop(message) {
  console.error(message);
  process.exit(2);
}
