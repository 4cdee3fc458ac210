/** The objects of deploy/kubernetes, as far as the tests look at them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

import { read, root } from './repository.js';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional?: boolean };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly readinessProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
  readonly [field: string]: unknown;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds: number;
  readonly [field: string]: unknown;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
    readonly [field: string]: unknown;
  };
}

export const OVERLAYS = ['development', 'production'] as const;

/** The objects of a file under deploy/kubernetes. */
export function objectsIn(file: string): KubernetesObject[] {
  return parseObjects(read(join('deploy/kubernetes', file)));
}

/** The objects that `kubectl apply -k` sends: kubectl renders them without a cluster. */
export function rendered(folder: string): KubernetesObject[] {
  const options = { cwd: join(root, 'deploy/kubernetes'), encoding: 'utf8' } as const;
  return parseObjects(execFileSync('kubectl', ['kustomize', folder], options));
}

function parseObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as KubernetesObject;
  });
}

export function deploymentsOf(objects: readonly KubernetesObject[]): Deployment[] {
  return objects.filter(({ kind }) => kind === 'Deployment') as Deployment[];
}

/** The values of a container's variables; of those from a Secret, what `secret` has. */
export function environmentOf(
  { env }: Container,
  secret: Readonly<Record<string, string>>,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { name, value, valueFrom } of env) {
    const key = valueFrom?.secretKeyRef.key;
    const text = key === undefined ? value : secret[key];
    if (text === undefined && valueFrom?.secretKeyRef.optional) continue;
    if (text === undefined) throw new Error(`${name} has no value`);
    values[name] = text;
  }
  return values;
}
