/** The commands, their options, and the help. */
import { parseArgs } from 'node:util';
import { requireOneOf } from '@mortise/redis';

/** Wrong arguments: exit code 2. */
export class UsageError extends Error {}

const OPTIONS = {
  redis: { type: 'string' },
  cluster: { type: 'boolean' },
  prefix: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  all: { type: 'boolean' },
  state: { type: 'string' },
  name: { type: 'string' },
  limit: { type: 'string' },
  cursor: { type: 'string' },
  reason: { type: 'string' },
  scheduled: { type: 'boolean' },
  'older-than': { type: 'string' },
  force: { type: 'boolean' },
  'from-bullmq': { type: 'string' },
  'from-bee-queue': { type: 'string' },
  'from-prefix': { type: 'string' },
  'from-redis': { type: 'string' },
  completed: { type: 'boolean' },
  'per-second': { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const;

type Option = keyof typeof OPTIONS;

/** Options of every command. */
const COMMON: readonly Option[] = ['redis', 'cluster', 'prefix', 'json', 'help', 'version'];

/** Their lines in the help. */
const COMMON_USAGES = {
  '--redis <url>': 'the address of Redis; default REDIS_URL, or redis://127.0.0.1:6379',
  '--cluster': 'connects to a Redis Cluster; the URL is that of any node',
  '--prefix <text>': 'the prefix of the keys; default mortise',
  '--json': 'prints JSON',
  '--help, --version': 'prints the help or the version',
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

export interface Usage {
  /** Arguments after the name of the command. */
  readonly syntax: string;
  readonly what: string;
  readonly options: readonly Option[];
}

export const USAGES = {
  ls: { syntax: '', what: 'lists the queues and counts their tasks by state', options: [] },
  show: {
    syntax: '<queue>',
    what: 'shows the settings and counts of a queue, and the names that live workers handle',
    options: [],
  },
  tasks: {
    syntax: '<queue> --state <state> [--name <task>] [--limit <n>] [--cursor <cursor>]',
    what: 'lists a page of the tasks in a state',
    options: ['state', 'name', 'limit', 'cursor'],
  },
  task: { syntax: '<queue> <id>…', what: 'shows tasks with all their fields', options: [] },
  retry: {
    syntax: '<queue> (<id>… | --all [--state dead|cancelled] [--name <task>] [--limit <n>])',
    what: 'makes dead or cancelled tasks due now, with all attempts left',
    options: ['all', 'state', 'name', 'limit'],
  },
  cancel: {
    syntax: '<queue> <id>… [--reason <text>]',
    what: 'cancels tasks that wait or run',
    options: ['reason'],
  },
  remove: { syntax: '<queue> <id>…', what: 'removes tasks that do not run', options: [] },
  promote: { syntax: '<queue> <id>…', what: 'makes scheduled or retrying tasks due now', options: [] },
  reshard: {
    syntax: '<queue> <shards>',
    what: 'changes the number of shards while producers and workers run',
    options: [],
  },
  pause: {
    syntax: '(<queue>… | --all)',
    what: 'stops workers from fetching tasks; running tasks go on',
    options: ['all'],
  },
  resume: { syntax: '(<queue>… | --all)', what: 'ends a pause', options: ['all'] },
  drain: {
    syntax: '<queue> [--scheduled]',
    what: 'removes ready tasks; --scheduled: also scheduled and retrying ones',
    options: ['scheduled'],
  },
  clean: {
    syntax: '<queue> --state succeeded|dead|cancelled [--older-than <duration>] [--limit <n>]',
    what: 'removes tasks that have ended, the oldest first',
    options: ['state', 'older-than', 'limit'],
  },
  obliterate: {
    syntax: '<queue> [--force]',
    what: 'removes a queue with all that it has; --force: also while it is in use',
    options: ['force'],
  },
  migrate: {
    syntax:
      '<queue> (--from-bullmq <queue> [--completed] | --from-bee-queue <queue> --name <task>) [--from-prefix <text>] [--from-redis <url>] [--per-second <n>] [--dry-run]',
    what: 'moves jobs of another library into a queue; --dry-run: only counts them; --completed: also jobs that have succeeded',
    options: [
      'from-bullmq',
      'from-bee-queue',
      'from-prefix',
      'from-redis',
      'completed',
      'per-second',
      'dry-run',
      'name',
    ],
  },
} as const satisfies Record<string, Usage>;

export type Command = keyof typeof USAGES;

export interface Arguments {
  readonly command: Command | undefined;
  readonly names: readonly string[];
  readonly values: Values;
}

/** Throws UsageError. */
export function parse(argv: readonly string[]): Arguments {
  const { values, positionals } = parseStrictly(argv);
  const [word, ...names] = positionals;
  if (word === undefined) return { command: undefined, names, values };
  if (!Object.hasOwn(USAGES, word)) throw new UsageError(`there is no command ${JSON.stringify(word)}`);
  const command = word as Command;
  const known = new Set<string>([...COMMON, ...USAGES[command].options]);
  const unknown = Object.keys(values).find((option) => !known.has(option));
  if (unknown !== undefined) throw new UsageError(`${command} has no option --${unknown}`);
  return { command, names, values };
}

function parseStrictly(argv: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The only name. Throws UsageError for none or several. */
export function singleName(command: Command, names: readonly string[]): string {
  if (names.length !== 1) throw new UsageError(`usage: mortise-queues ${command} ${USAGES[command].syntax}`);
  return names[0]!;
}

export function countOf(option: 'limit', text: string | undefined): { limit?: number } {
  return text === undefined ? {} : { limit: numberOf(`--${option}`, text) };
}

export function numberOf(what: '--limit' | '--per-second' | '<shards>', text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new UsageError(`${what} must be a number from 1, got ${text}`);
  return Number(text);
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A number of ms, or with a unit: `90s`, `15m`, `12h`, `7d`. */
export function durationOf(text: string): number {
  const [, digits, unit = 'ms'] = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(text) ?? [];
  if (digits === undefined)
    throw new UsageError(`a duration is such as 500, 90s, 15m, 12h or 7d, got ${text}`);
  return Number(digits) * UNITS[unit as keyof typeof UNITS];
}

/** Throws UsageError for an unknown state, and for none without a default. */
export function stateOf<const State extends string>(
  text: string | undefined,
  states: readonly State[],
  missing?: State,
): State {
  if (text === undefined && missing !== undefined) return missing;
  try {
    return requireOneOf('--state', text as State, states);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function help(command?: Command): string {
  const commands = Object.entries<Usage>(USAGES).filter(
    ([name]) => command === undefined || name === command,
  );
  const lines = commands.flatMap(([name, { syntax, what }]) => [
    `  ${name} ${syntax}`.trimEnd(),
    `      ${what}`,
  ]);
  const common = Object.entries(COMMON_USAGES).map(([syntax, what]) => `  ${syntax.padEnd(19)}${what}`);
  return `mortise-queues: looks at queues and operates them

${lines.join('\n')}

Options of all commands:
${common.join('\n')}

Names that begin with "-" stand after "--". The program ends with 0 when all was done, with 1 when something
was refused or is not there, and with 2 for wrong arguments.
`;
}
