const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

/**
 * Brings a DNS name into its one normal form (lower case, no final dot) or says what is wrong with it. A `*` may be
 * the whole first label and nothing else.
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

/** Whether a name is the domain itself or lies below it, by whole labels. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}

/** Whether `pattern`, which may start with `*.`, covers the name at any depth; a wildcard covers itself but not its base. */
export function covers(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name !== pattern.slice(2)
    : pattern === name
}

/** Reads `domain:port`, both required, as public entries are named in configuration. */
export function parseDomainPort(text: string): { host: string; port: number } {
  const match = /^(.+):([0-9]{1,5})$/.exec(text.trim())
  const port = Number(match?.[2])
  if (match === null || port < 1 || port > 65_535)
    throw new Error(`"${text}" is not of the form host:port with a port from 1 to 65535.`)
  return { host: parseDomain(match[1]!), port }
}

/** The labels in reverse order, so that all names below a domain stand together in an index. */
export function reversed(name: string): string {
  return name.split('.').reverse().join('.')
}
