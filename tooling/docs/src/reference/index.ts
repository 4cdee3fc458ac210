import { errorsOf } from './errors.js';
import { cliCommands, cliOptions } from './cli.js';
import { keysOf } from './keys.js';
import { appMetrics, metricsOf } from './metrics.js';
import { optionsOf } from './options.js';
import { FEATURES, PACKAGES } from './packages.js';
import { problemsOf } from './problems.js';
import type { Region } from './region.js';

/** All parts of pages that are made from the source. */
export const regions: readonly Region[] = [
  ...PACKAGES.flatMap((folder) => [
    {
      file: `${folder}/reference/options.md`,
      name: 'options',
      title: `Options of ${folder}`,
      description: `Every option of @mortise/${folder}, with its default and range.`,
      text: optionsOf(folder),
    },
    {
      file: `${folder}/reference/errors.md`,
      name: 'errors',
      title: `Errors of ${folder}`,
      description: `Every error code of @mortise/${folder}, with its cause, remedy and fields.`,
      text: errorsOf(folder),
    },
  ]),
  ...FEATURES.map((folder) => ({
    file: `${folder}/reference/metrics.md`,
    name: 'metrics',
    title: `Metrics of ${folder}`,
    description: `The metrics of @mortise/${folder} and how to receive them.`,
    text: metricsOf(folder),
  })),
  ...FEATURES.map((folder) => ({
    file: `${folder}/reference/keys.md`,
    name: 'keys',
    title: `Keys of ${folder}`,
    description: `The keys and channels of @mortise/${folder} in Redis, and when they go away.`,
    text: keysOf(folder),
  })),
  ...[
    { name: 'commands', text: cliCommands() },
    { name: 'options', text: cliOptions() },
  ].map((region) => ({
    file: 'queues/cli.md',
    title: 'Command-line program',
    description:
      'List queues and tasks, retry, cancel, pause and clean from a terminal with npx @mortise/queues.',
    ...region,
  })),
  {
    file: 'console/reference/options.md',
    name: 'options',
    title: 'Options of the console',
    description: 'Every option of @mortise/console, with its default.',
    text: optionsOf('console'),
  },
  {
    file: 'console/reference/problems.md',
    name: 'problems',
    title: 'Problems of the console',
    description: 'Every refusal of @mortise/console, with its status, its cause and what to do.',
    text: problemsOf('console'),
  },
  {
    file: 'operations/monitoring.md',
    name: 'metrics',
    title: 'Monitoring',
    description: 'Metrics for Prometheus, traces for OpenTelemetry, logs, and the figures to watch.',
    text: appMetrics(),
  },
];
