// The package's own types pull in everything a browser has, which clashes with Node's; these are the parts we use.

interface XmlElement {
  readonly textContent: string | null
  getAttribute(name: string): string | null
  getElementsByTagNameNS(namespace: string, name: string): ArrayLike<XmlElement>
}

export declare class DOMParser {
  constructor(options: { errorHandler: Record<'warning' | 'error' | 'fatalError', (text: string) => void> })
  parseFromString(xml: string, type: string): XmlElement | undefined
}
