/** The rights of credentials. A scope includes no other one. */
export const SCOPES = [
  'locks:read',
  'locks:write',
  'locks:admin',
  'queues:read',
  'queues:write',
  'queues:consume',
  'queues:admin',
  'messaging:read',
  'messaging:write',
  'autocomplete:read',
  'autocomplete:write',
  'cache:read',
  'cache:write',
  'market:read',
  'market:write',
  'tenants:admin',
  'ops:read',
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
