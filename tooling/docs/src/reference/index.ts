import { errorsOf } from './errors.js';
import { cliCommands, cliOptions } from './cli.js';
import { keysOf } from './keys.js';
import { appMetrics, metricsOf } from './metrics.js';
import { optionsOf } from './options.js';
import { FEATURES, PACKAGES } from './packages.js';
import type { ReferencePage } from './page.js';
import { problemsOf } from './problems.js';
import type { Region } from './region.js';

export const referencePages: readonly ReferencePage[] = [
  ...PACKAGES.flatMap((folder) => [
    { file: `${folder}/reference/options.md`, parts: { options: optionsOf(folder) } },
    { file: `${folder}/reference/errors.md`, parts: { errors: errorsOf(folder) } },
  ]),
  ...FEATURES.flatMap((folder) => [
    { file: `${folder}/reference/metrics.md`, parts: { metrics: metricsOf(folder) } },
    { file: `${folder}/reference/keys.md`, parts: { keys: keysOf(folder) } },
  ]),
  { file: 'console/reference/options.md', parts: { options: optionsOf('console') } },
  { file: 'console/reference/problems.md', parts: { problems: problemsOf('console') } },
];

/** Tables of guides. The guides themselves are written by hand. */
export const regions: readonly Region[] = [
  { file: 'queues/cli.md', name: 'commands', text: cliCommands() },
  { file: 'queues/cli.md', name: 'options', text: cliOptions() },
  { file: 'operations/monitoring.md', name: 'metrics', text: appMetrics() },
];
