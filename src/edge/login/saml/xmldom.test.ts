import { test } from 'node:test'
import { DOMParser } from '@xmldom/xmldom'
import { assertPrivateMembers } from '../../../../test/support/private-members.ts'

// The package's own types are replaced by xmldom.d.ts, so the compiler does not notice when the package changes.
const assertMember = assertPrivateMembers('@xmldom/xmldom', 'src/edge/login/saml/xmldom.d.ts')

test('xmldom has the members that our declaration of it promises', () => {
  const parse = (xml: string) => {
    const reported: string[] = []
    const report = (kind: string) => () => void reported.push(kind)
    const errorHandler = {
      warning: report('warning'),
      error: report('error'),
      fatalError: report('fatalError'),
    }
    return { document: new DOMParser({ errorHandler }).parseFromString(xml, 'text/xml'), reported }
  }

  const { document, reported } = parse('<a:x xmlns:a="urn:a" n="1"><a:y>text</a:y></a:x>')
  const root = document?.getElementsByTagNameNS('urn:a', 'x')[0]
  assertMember('DOMParser.parseFromString', document !== undefined && reported.length === 0)
  assertMember('Document.getElementsByTagNameNS', root !== undefined)
  assertMember('Element.getAttribute', root?.getAttribute('n') === '1')
  assertMember('Element.getElementsByTagNameNS', root?.getElementsByTagNameNS('urn:a', 'y').length === 1)
  assertMember('Element.textContent', root?.textContent === 'text')
  assertMember('the option errorHandler.warning', parse('<a b=c/>').reported.includes('warning'))
  assertMember('the option errorHandler.error', parse('<a>&b;</a>').reported.includes('error'))
  assertMember('the option errorHandler.fatalError', parse('<a b="" b=""/>').reported.includes('fatalError'))
})
