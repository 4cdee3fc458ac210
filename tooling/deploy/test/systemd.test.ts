import { describe, expect, test } from '@jest/globals';
import { variablesOf } from '../src/dockerfile.js';
import { APPS } from '../src/repository.js';
import { settingsOf, stopMs } from '../src/settings.js';
import { serviceOf } from '../src/unit-file.js';

describe.each(APPS)('the unit of the %s', (app) => {
  const service = serviceOf(app);
  const [text = ''] = service.get('Environment') ?? [];
  const environment = variablesOf({ keyword: 'ENV', flags: {}, text });

  test('runs the app with settings that it has, and secrets from a file', () => {
    expect(service.get('ExecStart')).toEqual(['/usr/bin/node dist/main.js']);
    expect(service.get('WorkingDirectory')).toEqual([`/opt/mortise/${app}`]);
    expect(service.get('EnvironmentFile')).toEqual([`/etc/mortise/${app}.env`]);
    const { NODE_ENV, ...settings } = environment;
    expect(NODE_ENV).toBe('production');
    expect([...settingsOf(app).keys()]).toEqual(expect.arrayContaining(Object.keys(settings)));
  });

  test('is scraped on this host alone', () => {
    const [host, port] = app === 'api' ? ['METRICS_HOST', 'METRICS_PORT'] : ['WORKER_HOST', 'WORKER_PORT'];
    expect([environment[host], environment[port]]).toEqual([undefined, app === 'api' ? '3002' : '3001']);
  });

  test('has time to stop before it is killed', () => {
    const seconds = Number(service.get('TimeoutStopSec')![0]);
    expect(seconds * 1_000).toBeGreaterThan(stopMs(app, environment) + 2_000);
  });
});
