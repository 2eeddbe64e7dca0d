/** What a User-Agent header tells about a browser. Unknown texts are empty. */
export interface UserAgent {
  readonly raw: string
  readonly browser_name: string
  readonly browser_version: string
  readonly device_type: 'Desktop' | 'Mobile' | 'Tablet' | 'Bot'
  readonly os_name: string
  readonly os_version: string
}

type Markers = readonly (readonly [marker: string, name: string])[]

/** What precedes the version of a browser. Most browsers name others too, so the more specific come first. */
const BROWSERS: Markers = [
  ['Edg/', 'Edge'],
  ['EdgA/', 'Edge'],
  ['EdgiOS/', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Version/', 'Safari'],
  ['curl/', 'curl'],
]

/** What precedes the version of an operating system. */
const SYSTEMS: Markers = [
  ['Windows NT ', 'Windows'],
  ['CPU iPhone OS ', 'iOS'],
  ['CPU OS ', 'iPadOS'],
  ['Mac OS X ', 'macOS'],
  ['Android ', 'Android'],
  ['CrOS ', 'ChromeOS'],
  ['Linux', 'Linux'],
]

const BOTS = ['bot', 'crawler', 'spider']
const VERSION_END = /[^0-9._]/

/** Reads the User-Agent header of a browser. */
export function parseUserAgent(raw: string): UserAgent {
  const browser = find(BROWSERS, raw)
  const system = find(SYSTEMS, raw)
  return {
    raw,
    browser_name: browser.name,
    browser_version: browser.version,
    device_type: deviceOf(raw),
    os_name: system.name,
    os_version: system.version.replaceAll('_', '.'),
  }
}

function find(markers: Markers, raw: string): { name: string; version: string } {
  for (const [marker, name] of markers) {
    const start = raw.indexOf(marker)
    if (start === -1) continue
    const rest = raw.slice(start + marker.length)
    const end = rest.search(VERSION_END)
    return { name, version: end === -1 ? rest : rest.slice(0, end) }
  }
  return { name: '', version: '' }
}

function deviceOf(raw: string): UserAgent['device_type'] {
  const text = raw.toLowerCase()
  if (BOTS.some((word) => text.includes(word))) return 'Bot'
  if (text.includes('ipad') || (text.includes('android') && !text.includes('mobile'))) return 'Tablet'
  return text.includes('mobile') ? 'Mobile' : 'Desktop'
}
