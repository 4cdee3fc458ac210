import { countText } from '../../ui/text.ts';

/** Of requests; null: as the settings of the API have it. */
export type Limit = { readonly requests: number; readonly seconds: number } | null;

export function limitText(limit: Limit): string {
  return limit === null ? 'the default' : `${countText(limit.requests)} in ${limit.seconds} s`;
}
