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
  {
    id: 'locks',
    title: 'Locks',
    group: 'Coordination',
    scope: 'locks:read',
    load: () => import('./areas/locks/locks.tsx'),
  },
  {
    id: 'semaphores',
    title: 'Semaphores',
    group: 'Coordination',
    scope: 'locks:read',
    load: () => import('./areas/locks/semaphores.tsx'),
  },
  {
    id: 'read-write-locks',
    title: 'Read-write locks',
    group: 'Coordination',
    scope: 'locks:read',
    load: () => import('./areas/locks/read-write-locks.tsx'),
  },
  {
    id: 'rate-limits',
    title: 'Rate limits',
    group: 'Coordination',
    scope: 'locks:read',
    load: () => import('./areas/locks/rate-limits.tsx'),
  },
  {
    id: 'chats',
    title: 'Chats',
    group: 'Messages',
    scope: 'messaging:read',
    load: () => import('./areas/messaging/chats.tsx'),
  },
  {
    id: 'members',
    title: 'Members',
    group: 'Messages',
    scope: 'messaging:read',
    load: () => import('./areas/messaging/members.tsx'),
  },
  {
    id: 'mailboxes',
    title: 'Mailboxes',
    group: 'Messages',
    scope: 'messaging:read',
    load: () => import('./areas/messaging/mailboxes.tsx'),
  },
  {
    id: 'files',
    title: 'Files',
    group: 'Messages',
    scope: 'messaging:read',
    load: () => import('./areas/files/files.tsx'),
  },
  {
    id: 'books',
    title: 'Autocomplete',
    group: 'Data',
    scope: 'autocomplete:read',
    load: () => import('./areas/books/books.tsx'),
  },
  {
    id: 'caches',
    title: 'Caches',
    group: 'Data',
    scope: 'cache:read',
    load: () => import('./areas/caches/caches.tsx'),
  },
  {
    id: 'rows',
    title: 'Cached rows',
    group: 'Data',
    scope: 'cache:read',
    isOfDeployment: true,
    load: () => import('./areas/caches/rows.tsx'),
  },
  {
    id: 'market',
    title: 'Market',
    group: 'Data',
    scope: 'market:read',
    isOfDeployment: true,
    load: () => import('./areas/market/market.tsx'),
  },
  {
    id: 'aggregates',
    title: 'Access logs',
    group: 'Data',
    scope: 'ops:read',
    isOfDeployment: true,
    load: () => import('./areas/market/aggregates.tsx'),
  },
  {
    id: 'redis',
    title: 'Redis',
    group: 'Operations',
    scope: 'ops:read',
    isOfDeployment: true,
    load: () => import('./areas/redis/redis.tsx'),
  },
  {
    id: 'access',
    title: 'Access',
    group: 'Operations',
    scope: 'tenants:admin',
    isOfDeployment: true,
    load: () => import('./areas/access/access.tsx'),
  },
];

/** Those that a session sees. */
export function areasOf({ scopes, tenant }: Session): Area[] {
  return AREAS.filter(
    ({ scope, isOfDeployment }) => scopes.includes(scope) && (!isOfDeployment || tenant === 'default'),
  );
}
