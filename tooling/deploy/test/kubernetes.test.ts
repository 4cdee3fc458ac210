import { describe, expect, test } from '@jest/globals';
import { lastStep, stagesOf, variablesOf } from '../src/dockerfile.js';
import { deploymentsOf, objectsIn, OVERLAYS } from '../src/kubernetes.js';
import { problemsOf } from '../src/pods.js';
import { APPS, read } from '../src/repository.js';
import { settingsOf, stopMs } from '../src/settings.js';
import { parse } from 'yaml';

interface Kustomization {
  readonly resources: readonly string[];
  readonly images?: readonly { readonly name: string }[];
  readonly replicas?: readonly { readonly name: string }[];
  readonly patches?: readonly { readonly path: string }[];
}
const kustomization = (folder: string): Kustomization =>
  parse(read(`deploy/kubernetes/${folder}/kustomization.yaml`)) as Kustomization;

const base = kustomization('base').resources.flatMap((file) => objectsIn(`base/${file}`));
const [redis] = deploymentsOf(objectsIn('overlays/development/redis.yaml'));
const withPartOf = base.map((object) =>
  object.kind === 'Deployment' ? withLabel(object as (typeof deployments)[number]) : object,
);
const deployments = deploymentsOf(base);

/** Kustomize adds it to all. */
function withLabel<Of extends { readonly spec: { readonly template: object } }>(object: Of): Of {
  const copy = structuredClone(object) as Of & {
    spec: { template: { metadata: { labels: Record<string, string> } } };
  };
  copy.spec.template.metadata.labels['app.kubernetes.io/part-of'] = 'mortise';
  return copy;
}

test('no workload has a privilege, and no selector misses its pods', () => {
  expect(problemsOf([...withPartOf, redis!])).toEqual([]);
});

test.each([
  ['mortise-api runs as root', (pod: Pod) => (pod.securityContext = {})],
  ['mortise-api/api has privileges', (pod: Pod) => (pod.containers[0]!['securityContext'] = {})],
  ['mortise-api/api has no limit of memory', (pod: Pod) => (pod.containers[0]!['resources'] = {})],
  [
    'Service mortise-api names a port that no container has',
    (pod: Pod) => (pod.containers[0]!['ports'] = []),
  ],
])('a broken rule is found: %s', (problem, breakIt) => {
  const broken = structuredClone(withPartOf);
  breakIt((broken[0] as unknown as { spec: { template: { spec: Pod } } }).spec.template.spec);
  expect(problemsOf(broken)).toContain(problem);
});
interface Pod {
  securityContext: object;
  containers: Record<string, unknown>[];
}

describe.each(APPS)('the %s', (app) => {
  const { spec } = deployments.find(({ metadata }) => metadata.name === `mortise-${app}`)!;
  const pod = spec.template.spec;
  const [container] = pod.containers;

  test('has the user and the port of its image', () => {
    expect(pod['securityContext']).toMatchObject({ runAsUser: 1_000 });
    const exposed = lastStep(stagesOf(app).at(-1)!, 'EXPOSE')!.text.split(' ').map(Number);
    expect(container!.ports.map(({ containerPort }) => containerPort)).toEqual(exposed);
  });

  test('is scraped where it answers, and by Prometheus alone', () => {
    const variables = variablesOf(lastStep(stagesOf(app).at(-1)!, 'ENV')!);
    const [host, port] =
      app === 'api'
        ? [variables['METRICS_HOST'], variables['METRICS_PORT']]
        : [variables['WORKER_HOST'], variables['WORKER_PORT']];
    expect(host).toBe('0.0.0.0');
    expect(spec.template.metadata).toMatchObject({
      annotations: {
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': port,
        'prometheus.io/path': '/metrics',
      },
    });
    const { name } = container!.ports.find(({ containerPort }) => String(containerPort) === port)!;
    const policies = base.filter(
      (object) =>
        object.kind === 'NetworkPolicy' &&
        JSON.stringify(object.spec['ingress'] ?? []).includes(`"port":"${name}"`),
    );
    expect(policies.map(({ spec: { ingress } }) => ingress)).toEqual([
      [
        {
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
          ports: [{ port: name }],
        },
      ],
    ]);
    const [monitor] = objectsIn('pod-monitor.yaml');
    expect(monitor!.spec['podMetricsEndpoints']).toContainEqual({
      port: name,
      path: '/metrics',
      interval: '15s',
    });
    const { scrape_configs: jobs } = parse(read('deploy/monitoring/prometheus.yaml')) as {
      scrape_configs: { static_configs?: { targets: string[] }[] }[];
    };
    expect(jobs.flatMap(({ static_configs: all = [] }) => all.flatMap(({ targets }) => targets))).toContain(
      `127.0.0.1:${port!}`,
    );
  });

  test('has time to stop before it is killed', () => {
    const environment = Object.fromEntries(
      container!.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
    );
    const sleepMs = Number(container!.lifecycle?.preStop.exec.command[1] ?? 0) * 1_000;
    const graceMs = pod.terminationGracePeriodSeconds * 1_000;
    expect(graceMs).toBeGreaterThan(sleepMs + stopMs(app, environment) + 2_000);
  });
});

test('the API takes requests until probes have seen that it stops', () => {
  const [container] = deployments[0]!.spec.template.spec.containers;
  const { periodSeconds, failureThreshold } = container!.readinessProbe;
  const delay = container!.env.find(({ name }) => name === 'SHUTDOWN_DELAY_MS')!.value;
  expect(Number(delay)).toBeGreaterThan(periodSeconds * failureThreshold * 1_000);
  expect(container!.lifecycle!.preStop.exec.command).toEqual(['sleep', String(Number(delay) / 1_000)]);
});

describe.each(OVERLAYS)('the overlay of %s', (overlay) => {
  const { images, patches, replicas, resources } = kustomization(`overlays/${overlay}`);

  test('changes objects and containers of the base, and sets variables that the app reads', () => {
    expect(resources[0]).toBe('../../base');
    expect(
      [...images!, ...replicas!].every(({ name }) => APPS.some((app) => name === `mortise-${app}`)),
    ).toBe(true);
    for (const patch of deploymentsOf(
      patches!.flatMap(({ path }) => objectsIn(`overlays/${overlay}/${path}`)),
    )) {
      const changed = deployments.find(({ metadata }) => metadata.name === patch.metadata.name)!;
      const names = changed.spec.template.spec.containers.map(({ name }) => name);
      for (const { name } of patch.spec.template.spec.containers) expect(names).toContain(name);
    }
  });
});

test('KEDA scales the worker of the base, by counts of the route of a queue', () => {
  const [scaled] = objectsIn('keda.yaml');
  expect(scaled!.spec['scaleTargetRef']).toEqual({ name: 'mortise-worker' });
  const triggers = scaled!.spec['triggers'] as { name: string; metadata: Record<string, string> }[];
  for (const { name, metadata } of triggers) {
    expect(metadata['valueLocation']).toBe(`counts.${name}`);
    expect(metadata['targetValue']).toBe(settingsOf('worker').get('WORKER_CONCURRENCY'));
  }
});
