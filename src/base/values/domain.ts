const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

/**
 * Normalizes a DNS name (lower case, no final dot), or throws a sentence that says what is wrong with it. A `*` is
 * allowed only as the complete first label.
 */
export function parseDomain(text: string): string {
  const name = text.trim().toLowerCase().replace(/\.$/, '')
  if (name === '') throw new Error('a domain name is needed.')
  if (name.length > 253)
    throw new Error(`"${name.slice(0, 40)}…" is longer than the 253 characters a domain name may have.`)
  const labels = name.split('.')
  for (const [index, label] of labels.entries()) {
    if (label === '*' && index === 0 && labels.length > 1) continue
    if (label.includes('*')) throw new Error(`"${text}": a * may only stand alone as the first label.`)
    if (label === '') throw new Error(`"${text}" has an empty label.`)
    if (label.length > 63) throw new Error(`"${text}" has a label longer than 63 characters.`)
    if (!LABEL.test(label))
      throw new Error(
        `"${text}": labels hold letters, digits and hyphens and start and end with a letter or digit.`,
      )
    if (label.slice(2, 4) === '--' && !label.startsWith('xn--'))
      throw new Error(
        `"${text}": only punycode labels (xn--) may have hyphens in the third and fourth place.`,
      )
  }
  return name
}

/** Whether a name is the domain itself or a subdomain of it. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}

/** Whether `pattern` covers the name. A `*.` wildcard covers names at any depth and itself, but not its base. */
export function covers(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name !== pattern.slice(2)
    : pattern === name
}

/** What an account may have reserved that gives it a name with all names below it: the names and wildcards at and above it. */
export function* owningNames(name: string): Generator<string> {
  for (let rest = name; ; rest = rest.slice(rest.indexOf('.') + 1)) {
    yield rest
    yield `*.${rest}`
    if (!rest.includes('.')) return
  }
}

/** Parses `domain:port`, both required, as configuration names public entries. */
export function parseDomainPort(text: string): { host: string; port: number } {
  const match = /^(.+):([0-9]{1,5})$/.exec(text.trim())
  const port = Number(match?.[2])
  if (match === null || port < 1 || port > 65_535)
    throw new Error(`"${text}" is not of the form host:port with a port from 1 to 65535.`)
  return { host: parseDomain(match[1]!), port }
}

/** Reverses the labels, so that an index sorts all subdomains of a domain together. */
export function reverseLabels(name: string): string {
  return name.split('.').reverse().join('.')
}
