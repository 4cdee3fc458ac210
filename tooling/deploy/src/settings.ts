import { type App, read } from './repository.js';

/** Names and defaults of an app's settings, as the page of its settings has them. `apps/*` tests compare that with the code. */
export function settingsOf(app: App): ReadonlyMap<string, string> {
  const [, section = ''] =
    /\n## (?:Settings|Environment)\n([^]*?)(?=\n## |$)/.exec(
      read(`docs/service/reference/${app}-settings.md`),
    ) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.flatMap((row) => {
      const [, names = '', defaults = ''] = row.split('|');
      const values = defaults.split(',').map((value) => value.replaceAll(/[`\s]/g, ''));
      return Array.from(
        names.matchAll(/`(\w+)`/g),
        ([, name], index) => [name!, values[index] ?? ''] as const,
      );
    }),
  );
}

/** The longest time of an app with this environment from SIGTERM to its end, in ms. */
export function stopMs(app: App, environment: Readonly<Record<string, string>>): number {
  const defaults = settingsOf(app);
  const ms = (name: string): number => {
    const value = Number(environment[name] ?? defaults.get(name) ?? Number.NaN);
    if (Number.isNaN(value)) throw new Error(`${name} has no value`);
    return value;
  };
  // apps/api/src/http/shutdown.ts and apps/worker/src/main.ts add the constants.
  return app === 'api'
    ? ms('SHUTDOWN_DELAY_MS') + ms('REQUEST_DEADLINE_MS') + 350
    : ms('WORKER_SHUTDOWN_TIMEOUT_MS') + 3_000;
}
