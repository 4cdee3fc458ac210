import type { Metric } from './telemetry.js';

/**
 * Makes a function that makes the metrics of a package: `metricsOf('locks')('hold', 's', '…')` is named `mortise.locks.hold`. A
 * metric with the unit `s` is a histogram of durations.
 *
 * @param packageName Such as `locks`.
 */
export function metricsOf(packageName: string): (name: string, unit: string, description: string) => Metric {
  return (name, unit, description) => ({ name: `mortise.${packageName}.${name}`, unit, description });
}
