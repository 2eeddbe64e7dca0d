import { useState } from 'react'
import type { EventDestination } from '../../../../api-client/index.ts'
import { api, errorMessage } from '../../api.ts'
import { Badge, Button, Card, Equivalent, Facts, Notice, Time, useApi } from '../../kit/index.ts'
import type { ExtraProps } from '../../page-contracts.ts'
import { useCanChangeAt } from '../../session.ts'
import { describeDelivery } from './delivery-labels.ts'

/** The live delivery status of a destination, and a button to send a test event. */
export default function Delivery({ item }: ExtraProps) {
  const path = `/event_destinations/${item.id}`
  const { value, reload } = useApi<EventDestination>(path, { everyMs: 3000 })
  const status = value?.status ?? (item.status as EventDestination['status'])
  const [busy, setBusy] = useState(false)
  const [testResult, setTestResult] = useState<{ kind: 'good' | 'bad'; text: string }>()
  const mayChange = useCanChangeAt('/event_destinations')
  const testPath = `${path}/send_test_event`
  const sendTestEvent = async () => {
    setBusy(true)
    setTestResult(undefined)
    try {
      const { event_id } = await api.post<{ event_id: string }>(testPath, {})
      setTestResult({ kind: 'good', text: `The destination accepted the test event ${event_id}.` })
    } catch (error) {
      setTestResult({ kind: 'bad', text: errorMessage(error) })
    }
    setBusy(false)
    reload()
  }
  const text = status && describeDelivery(status)
  return (
    <Card
      title="Deliveries"
      actions={
        mayChange && (
          <Button busy={busy} onClick={() => void sendTestEvent()}>
            Send test event
          </Button>
        )
      }
    >
      {text && (
        <p>
          <Badge tone={text.tone}>{text.short}</Badge> {text.text}
        </p>
      )}
      {testResult && <Notice kind={testResult.kind}>{testResult.text}</Notice>}
      {status && (
        <Facts
          entries={[
            [
              'Last success',
              status.last_success_at ? <Time key="s" value={status.last_success_at} exact /> : 'never',
            ],
            ['Last error', status.last_error_at && <Time key="e" value={status.last_error_at} exact />],
            ['Error message', status.last_error],
            ['Queued', count(status.backlog)],
            ['Dead letters', status.dead > 0 ? `${count(status.dead)}; the operator can replay them` : '0'],
            ['Dropped', count(status.dropped)],
          ]}
        />
      )}
      {mayChange && <Equivalent method="POST" path={testPath} body={{}} />}
    </Card>
  )
}

const count = (value: number) => value.toLocaleString('en')
