import { useState } from 'react'
import { api, sentenceOf } from '../../api.ts'
import { Badge, Button, Card, Equivalent, Facts, Notice, Time, useApi } from '../../kit/index.ts'
import type { ExtraProps } from '../../resources.ts'
import { useMayChangeAt } from '../../session.ts'
import { type DeliveryStatus, deliveryWords } from './delivery-labels.ts'

/** How deliveries to a destination stand, looked at every few seconds, and a button that tries it out. */
export default function Delivery({ item }: ExtraProps) {
  const path = `/event_destinations/${item.id}`
  const { value, reload } = useApi<{ status: DeliveryStatus | null }>(path, { everyMs: 3000 })
  const status = value?.status ?? (item.status as DeliveryStatus | null)
  const [busy, setBusy] = useState(false)
  const [tried, setTried] = useState<{ kind: 'good' | 'bad'; text: string }>()
  const mayChange = useMayChangeAt('/event_destinations')
  const test = `${path}/send_test_event`
  const tryOut = async () => {
    setBusy(true)
    setTried(undefined)
    try {
      const { event_id } = await api.post<{ event_id: string }>(test, {})
      setTried({ kind: 'good', text: `The destination took the test event ${event_id}.` })
    } catch (error) {
      setTried({ kind: 'bad', text: sentenceOf(error) })
    }
    setBusy(false)
    reload()
  }
  const words = status && deliveryWords(status)
  return (
    <Card
      title="Deliveries"
      actions={
        mayChange && (
          <Button busy={busy} onClick={() => void tryOut()}>
            Send a test event
          </Button>
        )
      }
    >
      {words && (
        <p>
          <Badge tone={words.tone}>{words.short}</Badge> {words.text}
        </p>
      )}
      {tried && <Notice kind={tried.kind}>{tried.text}</Notice>}
      {status && (
        <Facts
          entries={[
            [
              'Last success',
              status.last_success_at ? <Time key="s" at={status.last_success_at} exact /> : 'never',
            ],
            ['Last error', status.last_error_at && <Time key="e" at={status.last_error_at} exact />],
            ['It said', status.last_error],
            ['Waiting', count(status.backlog)],
            [
              'Given up',
              status.dead > 0 ? `${count(status.dead)}; they can be replayed by the operator` : '0',
            ],
            ['Dropped', count(status.dropped)],
          ]}
        />
      )}
      <Equivalent method="POST" path={test} body={{}} />
    </Card>
  )
}

const count = (value: number) => value.toLocaleString('en')
