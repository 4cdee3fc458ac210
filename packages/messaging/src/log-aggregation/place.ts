/**
 * The place of an address, and its name in the aggregates. A city alone is ambiguous: there are many Springfields. So a member
 * of an aggregate is the whole path down to the city, joined by `/`. In its parts, `/` and `%` are percent-encoded.
 */
export interface Place {
  /** ISO 3166-1 alpha-2; `ZZ` when nothing is known of the address. */
  readonly country: string;
  /** Empty when it isn't known, as is the city. */
  readonly region: string;
  readonly city: string;
}

export const UNKNOWN: Place = { country: 'ZZ', region: '', city: '' };

/** The member of the aggregate that has so many of the parts of a place. Injective for each number of parts. */
export function memberOf(...parts: readonly string[]): string {
  return parts.map((part) => part.replace(/[%/]/g, (found) => (found === '/' ? '%2F' : '%25'))).join('/');
}

/** The inverse of `memberOf`. */
export function partsOf(member: string): string[] {
  return member.split('/').map((part) => part.replace(/%2F|%25/g, (found) => (found === '%2F' ? '/' : '%')));
}
