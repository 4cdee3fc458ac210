import type { Metric } from './telemetry.js';

/**
 * Makes the metrics of a package: `metricsOf('locks')('hold', 's', '…')` is named `mortise.locks.hold`. The unit `s` makes a
 * histogram of durations.
 *
 * @param packageName Such as `locks`.
 */
export function metricsOf(packageName: string): (name: string, unit: string, description: string) => Metric {
  return (name, unit, description) => ({ name: `mortise.${packageName}.${name}`, unit, description });
}
