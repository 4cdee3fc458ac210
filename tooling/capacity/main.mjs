/**
 * `npm run capacity -- --tasks-per-second 20000 --payload-bytes 500`: prints the masters, processes and memory that a load needs, and its
 * assumptions. `--compare` prints predictions for 1, 2 and 3 masters beside the measurements of `npm run bench -- queues.shards`. See
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
      value === undefined ? 'not measured yet' : `measured: ${round(value)}${unit}`;
    const where = `${masters} ${masters === 1 ? 'master' : 'masters'}, 12 shards`;
    const share = `the busiest master uses ${shares} % of all CPU of Redis (${seen(measuredShare, ' %')})`;
    const cost = `a task costs ${times} × the CPU that it costs with 1 shard (${seen(measuredTimes, ' ×')})`;
    console.log(`${where}: ${share}; ${cost}`);
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
/** A load gets more queues only if fewer queues need more than this many times the fewest masters. */
const MOST_MORE = 1.5;
const { needed, queues } = planned();
if (values.json) console.log(JSON.stringify({ ...needed, queues: queues.length }, null, 2));
else print();

/** The plan with the fewest queues. A large Cluster needs several queues: the 64 shards of one leave some masters empty. */
function planned() {
  const plans = [];
  for (let count = 1; count <= MOST_QUEUES; count *= 2) {
    const names = count === 1 ? [queue] : Array.from({ length: count }, (_, n) => `${queue}-${n + 1}`);
    const found = planWith(names);
    if (found) plans.push({ needed: found, queues: names });
  }
  if (plans.length === 0) return stop('this load needs more than 1,000 masters');
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
    [
      'masters',
      `${masters}${masters === 2 ? ' (a Cluster; its failover needs 3)' : masters > 2 ? ' (a Cluster)' : ''}`,
    ],
    [
      'CPU of Redis',
      `${round(cores)} cores; the busiest master uses ${Math.round(100 * busiest)} % of a core`,
    ],
    [
      'commands',
      `${Math.round(commandsPerSecond).toLocaleString('en')} a second, with the commands inside scripts`,
    ],
    ['memory', memoryOf(bytes, bytesOfMaster)],
    [
      'processes',
      `${processes}: ${round(nodeCores)} cores in all${hasTasks ? `, ${Math.ceil(slots).toLocaleString('en')} handlers at a time` : ''}`,
    ],
  ];
  if (hasTasks) {
    const spread = shardsOnMasters(queues, shards, masters);
    const [least, most] = [Math.min(...spread), Math.max(...spread)];
    const lie = masters > 1 ? `, ${least === most ? most : `${least} to ${most}`} on each master` : '';
    rows.splice(1, 0, [
      'shards',
      queues.length === 1
        ? `${shards} for queue "${queue}"${lie}`
        : `${shards} for each of ${queues.length} queues${lie}`,
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
    return `${what}: each costs ${round(redisMicros)} µs CPU of Redis and ${round(nodeMicros)} µs CPU of Node (${scenario}: ${conditionsOf(scenario)})`;
  });
  if (masters > 1) {
    const source = isMeasured ? 'measured by queues.shards' : 'the limit of queues.shards: not measured yet';
    lines.push(`Several masters together use ${round(times)} times the CPU of one master (${source}).`);
    lines.push('Each master has the same number of slots, in order.');
  }
  lines.push(
    `A master uses at most ${100 * settings['core-share']} % of a core, and a process at most ${100 * settings['node-share']} %.`,
    `CPU is that of payloads of 100 bytes, with many callers at once. Memory is that of payloads of ${settings['payload-bytes']} bytes.`,
    'Memory is that of the masters. Add half for fragmentation and copy-on-write. Each replica needs as much as its master.',
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

function memoryOf(bytes, bytesOfMaster) {
  if (bytes === 0) return 'no stored items were named, such as --backlog 1000000';
  return `${gigabytes(bytes)}; the fullest master has ${gigabytes(bytesOfMaster)}`;
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
