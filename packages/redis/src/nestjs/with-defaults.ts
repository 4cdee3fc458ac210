/** The options over the defaults; undefined options count as absent. */
export function withDefaults<Options extends object>(
  defaults: object | undefined,
  options: Options | undefined,
): Options {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  const entries = Object.entries(defaults ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...entries, ...given]) as Options;
}
