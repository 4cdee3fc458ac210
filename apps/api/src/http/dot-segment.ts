/**
 * Whether a program that resolves addresses (RFC 3986, 5.2.4) would never come to what has this name: to it `/locks/../renew`
 * is `/renew`, also when the dots are written as `%2e`.
 */
export function isDotSegment(name: string): boolean {
  return name === '.' || name === '..';
}
