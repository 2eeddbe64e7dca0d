/** What people write in two words and documents in one. */
const PHRASES: readonly (readonly [phrase: RegExp, word: string])[] = [
  [/\bback(?:ing)? up\b/g, 'backup'],
  [/\b(?:log|sign|logged|signed)(?: |-)?in\b/g, 'login'],
  [/\bset(?: |-)?up\b/g, 'install'],
  [/\bself(?: |-)signed\b/g, 'private root'],
]

/** Words of one meaning. */
const GROUPS: readonly (readonly string[])[] = [
  ['reset', 'lost', 'forgot', 'forgotten'],
  ['backup', 'backups'],
  ['login', 'signing', 'sign'],
  ['error', 'errors', 'troubleshooting', 'problem', 'cannot', 'fails', 'failed', 'broken'],
  ['delete', 'remove'],
  ['custom', 'own'],
  ['url', 'address'],
  ['ssl', 'tls', 'https', 'certificate', 'certificates'],
  ['token', 'authtoken'],
  ['docker', 'container', 'compose'],
  ['update', 'upgrade', 'updates', 'upgrades'],
  ['install', 'installation', 'setup'],
  ['throttle', 'limit', 'limits'],
  ['cluster', 'nodes', 'ha'],
  ['metrics', 'monitoring', 'prometheus'],
  ['whitelist', 'allowlist', 'allow'],
  ['2fa', 'mfa', 'totp', 'authenticator'],
]

/** Words that say nothing of what is looked for. */
const EMPTY = new Set(
  'a an and are can do does for from get how i in is it my of on or the to use what when where why with'.split(
    ' ',
  ),
)

/** The words of a query that count, each with those that mean the same. */
export function toAlternatives(query: string): string[][] {
  let text = query.toLowerCase()
  for (const [phrase, word] of PHRASES) text = text.replace(phrase, word)
  const words = text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '')
  const counting = words.filter((word) => !EMPTY.has(word))
  return (counting.length > 0 ? counting : words).map((word) => {
    const group = GROUPS.find((each) => each.includes(word)) ?? []
    return [word, ...group.filter((other) => other !== word)]
  })
}
