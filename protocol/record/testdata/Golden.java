// Writes batches and message sets with Kafka's own classes; see README.md.
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.*;

public class Golden {
    static final long TIME = 1700000000000L;

    static SimpleRecord record(int i, int magic) {
        byte[] key = i % 5 == 3 ? null : ("key-" + i).getBytes();
        byte[] value = i % 5 == 4 ? null : ("value " + "abcdefgh".repeat(i * 5)).getBytes();
        Header[] headers = magic < 2 || i % 2 == 0 ? new Header[0]
            : new Header[] {new RecordHeader("h" + i, new byte[] {1, 2, (byte) i}), new RecordHeader("", null)};
        return new SimpleRecord(magic == 0 ? RecordBatch.NO_TIMESTAMP : TIME + i * 7, key, value, headers);
    }

    static byte[] build(int magic, CompressionType codec, TimestampType type, int count) {
        MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), (byte) magic,
            Compression.of(codec).build(), type, 100, TIME);
        for (int i = 0; i < count; i++) b.append(record(i, magic));
        ByteBuffer out = b.build().buffer();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    public static void main(String[] args) throws Exception {
        for (int magic = 0; magic <= 2; magic++)
            for (CompressionType codec : CompressionType.values()) {
                if (codec == CompressionType.ZSTD && magic < 2) continue;
                Files.write(Path.of(args[0], "java-v" + magic + "-" + codec.name + ".bin"),
                    build(magic, codec, TimestampType.CREATE_TIME, 50));
            }
        Files.write(Path.of(args[0], "java-v1-gzip-append.bin"), build(1, CompressionType.GZIP, TimestampType.LOG_APPEND_TIME, 3));
        Files.write(Path.of(args[0], "java-v2-none-append.bin"), build(2, CompressionType.NONE, TimestampType.LOG_APPEND_TIME, 3));
        ByteBuffer m = MemoryRecords.withEndTransactionMarker(7, TIME, -1, 4000, (short) 3,
            new EndTransactionMarker(ControlRecordType.COMMIT, 12)).buffer();
        byte[] bytes = new byte[m.remaining()];
        m.get(bytes);
        Files.write(Path.of(args[0], "java-marker.bin"), bytes);
    }
}
