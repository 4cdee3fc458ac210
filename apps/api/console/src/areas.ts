/** The areas of the page: the navigation, the palette and the routes are made from this list. A new area is a row. */
import type { ComponentType } from 'preact';

import type { Session } from './session.ts';

export interface AreaProps {
  /** The parts of the address below the area. */
  readonly parts: readonly string[];
  readonly session: Session;
}

export interface Area {
  /** The first part of its address. */
  readonly id: string;
  readonly title: string;
  readonly group: string;
  /** Without this scope the area is not shown. */
  readonly scope: string;
  /** It is there for the tenant of the deployment alone. */
  readonly isOfDeployment?: true;
  readonly load: () => Promise<{ readonly default: ComponentType<AreaProps> }>;
}

export const AREAS: readonly Area[] = [
  {
    id: 'overview',
    title: 'Overview',
    group: 'Now',
    scope: 'queues:read',
    load: () => import('./areas/overview/overview.tsx'),
  },
  {
    id: 'queues',
    title: 'Queues',
    group: 'Work',
    scope: 'queues:read',
    load: () => import('./areas/queues/queues.tsx'),
  },
];

/** Those that a session sees. */
export function areasOf({ scopes, tenant }: Session): Area[] {
  return AREAS.filter(
    ({ scope, isOfDeployment }) => scopes.includes(scope) && (!isOfDeployment || tenant === 'default'),
  );
}
