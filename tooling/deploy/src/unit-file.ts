import { read } from './repository.js';

/** The settings of the section [Service]; of one that is given twice, all values. */
export function serviceOf(app: string): ReadonlyMap<string, readonly string[]> {
  const [, service = ''] =
    /^\[Service\]\n([^]*?)^\[Install\]/m.exec(read(`deploy/systemd/mortise-${app}.service`)) ?? [];
  const settings = new Map<string, string[]>();
  for (const line of service.split('\n').filter((each) => /^\w/.test(each))) {
    const [name, value] = [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)];
    settings.set(name, [...(settings.get(name) ?? []), value]);
  }
  return settings;
}
