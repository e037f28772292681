//! Inserts: formats, compression, tokens, clients that disconnect.

use super::*;

#[tokio::test]
async fn typed_rows_read_back_unchanged() {
    let address = clickhouse().await;
    for compression in [Compression::Lz4, Compression::None] {
        let client = client(&address).with_compression(compression);
        let table = table(&client, ITEM_COLUMNS).await;
        let items: Vec<Item> = (0..20_000).map(Item::numbered).collect();
        let mut insert = client.insert::<Item>(&table).await.unwrap();
        for item in &items {
            insert.write(item).await.unwrap();
        }
        insert.end().await.unwrap();
        let found = client
            .query(&format!("SELECT ?fields FROM {table} ORDER BY id"))
            .fetch_all::<Item>()
            .await
            .unwrap();
        assert!(found == items, "rows differ under {compression:?}");
        client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
    }
}

/// A Native block of `id UInt64, name String`.
fn native_block(rows: std::ops::Range<u64>) -> Bytes {
    let varint = |mut value: u64, out: &mut Vec<u8>| {
        while value >= 0x80 {
            out.push((value as u8) | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    };
    let text = |text: &str, out: &mut Vec<u8>| {
        varint(text.len() as u64, out);
        out.extend_from_slice(text.as_bytes());
    };
    let mut block = Vec::new();
    varint(2, &mut block);
    varint(rows.end - rows.start, &mut block);
    text("id", &mut block);
    text("UInt64", &mut block);
    rows.clone().for_each(|id| block.extend_from_slice(&id.to_le_bytes()));
    text("name", &mut block);
    text("String", &mut block);
    rows.for_each(|id| text(&format!("n{id}"), &mut block));
    block.into()
}

#[tokio::test]
async fn native_blocks_are_inserted() {
    let address = clickhouse().await;
    for compression in [Compression::Lz4, Compression::None] {
        let client = client(&address).with_compression(compression);
        let table = table(&client, "id UInt64, name String, extra UInt8 DEFAULT 7").await;
        let mut insert =
            client.insert_formatted_with(format!("INSERT INTO {table} (id, name) FORMAT Native"));
        insert.send(native_block(0..100_000)).await.unwrap();
        insert.send(native_block(100_000..150_000)).await.unwrap();
        insert.end().await.unwrap();
        let (rows, sum, names, extra) = client
            .query(&format!("SELECT count(), sum(id), countIf(name = concat('n', toString(id))), sum(extra) FROM {table}"))
            .fetch_one::<(u64, u64, u64, u64)>()
            .await
            .unwrap();
        assert_eq!((rows, sum, names, extra), (150_000, 149_999 * 150_000 / 2, 150_000, 1_050_000));
        client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
    }
}

#[tokio::test]
async fn rows_are_inserted_in_every_http_form() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, "id UInt64, name String DEFAULT 'd'").await;
    let insert = |tail: &str| format!("INSERT INTO {table} {tail}");
    // Rows behind the statement, in one body.
    for body in [
        insert("VALUES (1, 'it''s; VALUES'), (2, 'FORMAT CSV')"),
        insert("(id) VALUES (1 + 2);"),
        insert("FORMAT CSV\n4,\"a,b\"\n"),
        insert("(id, name) FORMAT JSONEachRow {\"id\": 5, \"name\": \"x\"}"),
        insert("SETTINGS format_csv_delimiter = ';' FORMAT CSV\n6;y\n"),
        insert("SELECT 7, 'z'"),
    ] {
        text_of(post(&address, &[], body)).await;
    }
    // The statement in the URL, rows in the body.
    for (statement, body) in [
        (insert("FORMAT TabSeparated"), "8\ta\n"),
        (insert("(name, id) FORMAT CSV"), "b,9"),
        (insert("VALUES"), "(10, 'c')"),
    ] {
        text_of(post(&address, &[("query", &statement)], body)).await;
    }
    let ids: Vec<u64> =
        client.query(&format!("SELECT id FROM {table} ORDER BY id")).fetch_all().await.unwrap();
    assert_eq!(ids, (1..=10).collect::<Vec<_>>());
    // What cannot be read is refused, and the text says where.
    let (status, code, text) =
        refusal_of(post(&address, &[("query", &insert("FORMAT CSV"))], "1,a\nx,b\n")).await;
    assert_eq!((status, code.as_str()), (400, "27"), "{text}");
    assert_eq!(count(&client, &table).await, 10);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn rows_in_a_body_may_exceed_the_statement_size() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, "id UInt64, name String").await;
    let rows: Vec<String> =
        (0..100_000).map(|id| format!("({id}, '{}')", "x".repeat(50))).collect();
    text_of(post(&address, &[], format!("INSERT INTO {table} VALUES {}", rows.join(",")))).await;
    assert_eq!(count(&client, &table).await, 100_000);
    let (_, code, _) =
        refusal_of(post(&address, &[], format!("SELECT '{}'", "x".repeat(2 * 1024 * 1024)))).await;
    assert_eq!(code, "62");
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn compressed_answers_can_be_inserted_unchanged() {
    let address = clickhouse().await;
    let client = client(&address);
    let table = table(&client, "id UInt64, name String").await;
    // Small enough for one block, and large enough for many.
    for rows in [10, 2_000_000_u64] {
        let statement =
            format!("SELECT number, toString(number) FROM numbers({rows}) FORMAT RowBinary");
        let blocks = post(&address, &[("compress", "1")], statement)
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        assert_eq!(blocks[16], 0x82, "not LZ4");
        let insert = format!("INSERT INTO {table} FORMAT RowBinary");
        text_of(post(&address, &[("query", &insert), ("decompress", "1")], blocks.clone())).await;
        assert_eq!(count(&client, &table).await, rows);
        let mut broken = blocks.to_vec();
        broken[30] ^= 1;
        let (_, code, _) =
            refusal_of(post(&address, &[("query", &insert), ("decompress", "1")], broken)).await;
        assert_eq!(code, "271");
        client.query(&format!("TRUNCATE TABLE {table}")).execute().await.unwrap();
    }
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn an_insert_repeated_with_its_token_is_done_once() {
    let client = client(&clickhouse().await);
    let table = table(&client, "id UInt64, name String").await;
    for (token, rows, expected) in
        [("a", 0..5, 5), ("a", 0..5, 5), ("a", 100..105, 5), ("b", 0..5, 10)]
    {
        let mut insert = client
            .insert_formatted_with(format!("INSERT INTO {table} FORMAT Native"))
            .with_setting("insert_deduplication_token", token)
            .with_setting("async_insert", "0");
        insert.send(native_block(rows)).await.unwrap();
        insert.end().await.unwrap();
        assert_eq!(count(&client, &table).await, expected, "token {token}");
    }
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}

#[tokio::test]
async fn an_insert_whose_client_disconnects_stores_nothing() {
    let client = client(&clickhouse().await);
    let table = table(&client, "id UInt64, name String").await;
    let mut insert = client.insert_formatted_with(format!("INSERT INTO {table} FORMAT Native"));
    insert.send(native_block(0..10_000)).await.unwrap();
    until("the insert runs", async || running(&client, &table).await == 1).await;
    drop(insert);
    until("the insert has ended", async || running(&client, &table).await == 0).await;
    assert_eq!(count(&client, &table).await, 0);
    client.query(&format!("DROP TABLE {table}")).execute().await.unwrap();
}
