/**
 * Whether clients that resolve addresses (RFC 3986, 5.2.4) can't reach a resource of this name: to them `/locks/../renew`
 * is `/renew`, also with the dots written as `%2e`.
 */
export function isDotSegment(name: string): boolean {
  return name === '.' || name === '..';
}
