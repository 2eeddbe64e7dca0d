import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditRecord, auditCsv } from './audit-export.ts'
import { NO_FILTER, toFilterExpression } from './audit-filter.ts'

const record: AuditRecord = {
  id: 'ae_1',
  at: '2026-01-02T03:04:05Z',
  principal: 'usr_1',
  credential: null,
  source: '192.0.2.1',
  operation_id: 'op_1',
  action: 'update',
  kind: 'ip_policies',
  object: 'ipp_1',
  outcome: 'done',
  detail: '=1+1',
  changes: [{ field: 'description', old: 'a', new: 'b, "c"' }],
  hash: '',
}

test('records are exported as CSV that no spreadsheet runs', () => {
  assert.equal(
    auditCsv([record]),
    'at,principal,credential,source,action,kind,object,outcome,detail,changes,operation_id,id\r\n' +
      "2026-01-02T03:04:05Z,usr_1,,192.0.2.1,update,ip_policies,ipp_1,done,'=1+1," +
      '"[{""field"":""description"",""old"":""a"",""new"":""b, \\""c\\""""}]",op_1,ae_1\r\n',
  )
})

test('a filter becomes one expression of the API', () => {
  assert.equal(toFilterExpression(NO_FILTER), '')
  assert.equal(
    toFilterExpression({ period: '7d', person: 'usr_1', action: 'delete', outcome: 'done' }),
    "obj.at > timestamp(time.now).subtract('7d') && obj.principal == 'usr_1' && obj.action.endsWith('delete') && obj.outcome == 'done'",
  )
})
