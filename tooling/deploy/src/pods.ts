/** The rules that every workload under deploy/kubernetes keeps. */
import type { Container, Deployment, KubernetesObject } from './kubernetes.js';
import { deploymentsOf } from './kubernetes.js';

type Labels = Readonly<Record<string, string>>;

/** One line for each broken rule; none when all hold. */
export function problemsOf(objects: readonly KubernetesObject[]): string[] {
  const deployments = deploymentsOf(objects);
  return [
    ...deployments.flatMap((deployment) => podProblems(deployment)),
    ...objects.flatMap((object) => selectorProblems(object, deployments)),
    ...objects.flatMap(({ kind, metadata: { name } }) => (kind === 'Secret' ? [`${name} is a Secret`] : [])),
  ];
}

function podProblems({ metadata, spec: { template } }: Deployment): string[] {
  const { containers, securityContext, ...pod } = template.spec;
  const context = securityContext as Record<string, unknown> | undefined;
  const rules: Record<string, boolean> = {
    'runs as root': context?.['runAsNonRoot'] === true && Number(context['runAsUser']) > 0,
    'has no seccomp profile': JSON.stringify(context?.['seccompProfile']) === '{"type":"RuntimeDefault"}',
    'has a token of the cluster': pod['automountServiceAccountToken'] === false,
    'has variables of Services': pod['enableServiceLinks'] === false,
  };
  return [
    ...broken(metadata.name, rules),
    ...containers.flatMap((container) => containerProblems(`${metadata.name}/${container.name}`, container)),
  ];
}

function containerProblems(name: string, container: Container): string[] {
  const resources = container['resources'] as Record<string, Record<string, string>> | undefined;
  const security = container['securityContext'] as Record<string, unknown> | undefined;
  return broken(name, {
    'has privileges':
      security?.['allowPrivilegeEscalation'] === false &&
      JSON.stringify(security['capabilities']) === '{"drop":["ALL"]}',
    'can write to its root': security?.['readOnlyRootFilesystem'] === true,
    'has no request of cpu and memory': ['cpu', 'memory'].every((each) =>
      Boolean(resources?.['requests']?.[each]),
    ),
    'has no limit of memory': resources?.['limits']?.['memory'] !== undefined,
    'has no readiness probe': container.readinessProbe !== undefined,
  });
}

/** Selectors that select no pod, and ports that no container has. */
function selectorProblems(object: KubernetesObject, deployments: readonly Deployment[]): string[] {
  const { kind, metadata, spec } = object;
  const selected = (labels: Labels | undefined): Deployment[] =>
    deployments.filter(({ spec: { template } }) =>
      Object.entries(labels ?? {}).every(([key, value]) => template.metadata.labels[key] === value),
    );
  const name = `${kind} ${metadata.name}`;
  const matchLabels = (field: string): Labels => (spec[field] as { matchLabels: Labels }).matchLabels;
  switch (kind) {
    case 'Service':
      return portProblems(name, selected(spec['selector'] as Labels), spec['ports'] as readonly Port[]);
    case 'Deployment':
      return broken(name, {
        'selects other pods': selected(matchLabels('selector')).includes(object as Deployment),
      });
    case 'PodDisruptionBudget':
      return broken(name, { 'selects no pod': selected(matchLabels('selector')).length === 1 });
    case 'NetworkPolicy': {
      const ingress = (spec['ingress'] ?? []) as readonly { readonly ports: readonly Port[] }[];
      const pods = selected(matchLabels('podSelector'));
      return portProblems(
        name,
        pods,
        ingress.flatMap(({ ports }) => ports),
      );
    }
    default:
      return [];
  }
}

interface Port {
  readonly port: number | string;
  readonly targetPort?: string;
}

function portProblems(name: string, pods: readonly Deployment[], ports: readonly Port[]): string[] {
  const named = pods.flatMap(({ spec }) => spec.template.spec.containers.flatMap(({ ports: all }) => all));
  return broken(name, {
    'selects no pod': pods.length > 0,
    'names a port that no container has': ports.every(({ port, targetPort }) =>
      named.some((each) => each.name === (targetPort ?? port)),
    ),
  });
}

function broken(name: string, rules: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(rules).flatMap(([problem, isKept]) => (isKept ? [] : [`${name} ${problem}`]));
}
