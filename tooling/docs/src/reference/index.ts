import { errorsOf } from './errors.js';
import { appMetrics, metricsOf } from './metrics.js';
import { optionsOf } from './options.js';
import type { Region } from './region.js';

const FEATURES = ['locks', 'queues', 'messaging', 'autocomplete', 'cache'];
const PACKAGES = [...FEATURES, 'redis'];

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
      name: 'classes',
      title: `Errors of ${folder}`,
      description: `Every error code of @mortise/${folder}, with its class, fields and cause.`,
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
  {
    file: 'operations/monitoring.md',
    name: 'metrics',
    title: 'Monitoring',
    description: 'Metrics for Prometheus, traces for OpenTelemetry, logs, and the figures to watch.',
    text: appMetrics(),
  },
];
