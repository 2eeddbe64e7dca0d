/**
 * Splits a PEM text into its blocks, in linear time. A block without an END line extends to the next one, so that its
 * parser rejects it. With a label, only blocks of that type, such as `CERTIFICATE`.
 */
export function pemBlocks(text: string, label?: string): string[] {
  const begin = label === undefined ? '-----BEGIN ' : `-----BEGIN ${label}-----`
  return text
    .split(begin)
    .slice(1)
    .map((rest) => {
      const end = rest.indexOf('-----END ')
      const close = end === -1 ? -1 : rest.indexOf('-----', end + 9)
      return `${begin}${close === -1 ? rest : rest.slice(0, close + 5)}`
    })
}
