import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatList } from './table.ts'

const response = {
  ip_policies: [
    {
      id: 'ipp_1',
      uri: 'http://a/1',
      created_at: '2026-01-01T00:00:00Z',
      description: 'office',
      metadata: '{}',
    },
    {
      id: 'ipp_2',
      uri: 'http://a/2',
      created_at: '2026-01-02T00:00:00Z',
      description: 'a\u001b[31mb',
      metadata: '',
    },
  ],
  uri: 'http://a',
  next_page_uri: null,
}

test('a list is a table with its useful fields, without control characters of values', () => {
  assert.equal(
    formatList(response, { columns: 80, colours: false }),
    `ID     DESCRIPTION  CREATED_AT
ipp_1  office       2026-01-01T00:00:00Z
ipp_2  a [31mb      2026-01-02T00:00:00Z
`,
  )
})

test('columns that do not fit the terminal are left out', () => {
  assert.equal(
    formatList(response, { columns: 20, colours: false }),
    'ID     DESCRIPTION\nipp_1  office\nipp_2  a [31mb\n',
  )
})

test('the heading is bold where colours are allowed', () => {
  assert.match(formatList(response, { columns: 80, colours: true })!, /^\u001b\[1mID .*\u001b\[0m\n/)
})

test('the next page, an empty list and a response that is no list', () => {
  const style = { columns: 80, colours: false }

  assert.match(
    formatList({ ...response, next_page_uri: 'http://a/?x' }, style)!,
    /\n\nMore: add --before-id ipp_2\n$/,
  )
  assert.equal(
    formatList({ ip_policies: [], uri: 'http://a', next_page_uri: null }, style),
    'No ip policies.\n',
  )
  assert.equal(formatList({ id: 'ipp_1', uri: 'http://a', description: '' }, style), undefined)
})
