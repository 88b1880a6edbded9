// Writes the fields of Kafka's requests as its own classes know them; see README.md.
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

public class Schemas {
    @SuppressWarnings("unchecked")
    static Map<Integer, org.apache.kafka.common.protocol.types.Field> tags(Type t) throws Exception {
        Field f = TaggedFields.class.getDeclaredField("fields");
        f.setAccessible(true);
        return (Map<Integer, org.apache.kafka.common.protocol.types.Field>) f.get(t);
    }

    static String type(Type t) throws Exception {
        if (t instanceof Schema) return "(" + fields((Schema) t) + ")";
        if (t.isArray()) return (t.isNullable() ? "?" : "") + "[]" + type(t.arrayElementType().get());
        return t.toString().replace("COMPACT_", "").replace("NULLABLE_", "?");
    }

    static String fields(Schema s) throws Exception {
        List<String> out = new ArrayList<>();
        for (BoundField f : s.fields()) {
            if (!(f.def.type instanceof TaggedFields)) {
                out.add(f.def.name + ":" + type(f.def.type));
                continue;
            }
            for (var e : tags(f.def.type).entrySet())
                out.add("#" + e.getKey() + ":" + e.getValue().name + ":" + type(e.getValue().type));
        }
        return String.join(" ", out);
    }

    public static void main(String[] args) throws Exception {
        for (ApiMessageType t : ApiMessageType.values())
            for (int v = t.lowestSupportedVersion(); v <= t.highestSupportedVersion(true); v++)
                if (List.of(args).contains(String.valueOf(t.apiKey())))
                    System.out.println(t.apiKey() + " " + v + " request " + fields(t.requestSchemas()[v]));
    }
}
