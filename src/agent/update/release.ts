/** A parsed version. */
interface Version {
  numbers: [major: number, minor: number, patch: number]
  prerelease: string
}

function parseVersion(text: string): Version | undefined {
  const match = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([0-9A-Za-z.-]{1,60}))?$/.exec(text)
  if (!match) return undefined
  return { numbers: [Number(match[1]), Number(match[2]), Number(match[3])], prerelease: match[4] ?? '' }
}

/** True for a well-formed version. */
export function isVersion(text: string): boolean {
  return parseVersion(text) !== undefined
}

/** True when `candidate` is newer than `current`. A pre-release is older than its release. */
export function isNewer(candidate: string, current: string): boolean {
  const [a, b] = [parseVersion(candidate), parseVersion(current)]
  if (!a || !b) return false
  for (const index of [0, 1, 2] as const) {
    if (a.numbers[index] !== b.numbers[index]) return a.numbers[index] > b.numbers[index]
  }
  if (a.prerelease === b.prerelease) return false
  if (a.prerelease === '' || b.prerelease === '') return a.prerelease === ''
  return a.prerelease > b.prerelease
}

/** True when the major versions are equal; updates never cross a major version. */
export function isSameMajor(a: string, b: string): boolean {
  return parseVersion(a)?.numbers[0] === parseVersion(b)?.numbers[0]
}
